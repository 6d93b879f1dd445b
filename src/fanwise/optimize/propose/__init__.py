"""Where new candidates come from: a language model, or a command of the user's."""
