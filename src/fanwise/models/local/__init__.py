"""A real language model with no key: llama.cpp in a child process, with weights from a GGUF file.

- `weights.py`: which files can be pulled by a name
- `cache.py`: where they are kept, and that they are whole
- `pull.py`, `fetch.py`: how they get there
- `settings.py`: what a name such as `local:smollm2?slots=2` says
- `server.py`: the child process; `serve.py` is its program, `servers.py` has those that run
- `model.py`: the model
"""
