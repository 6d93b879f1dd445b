"""A real language model with no key: llama.cpp in a child process, with weights from a GGUF file.

- `weights.py`: which files can be pulled by a name, and where they are kept
- `pull.py`, `fetch.py`: how they get there
- `settings.py`: what a name such as `local:smollm2?slots=2` says
- `server.py`: the child processes that run; `serve.py` is their program
- `model.py`: the model
"""
