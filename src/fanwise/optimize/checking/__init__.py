"""Whether a candidate is correct: stages, the cheap ones first, in the candidate's workspace."""
