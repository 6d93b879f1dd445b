"""What is put on the path of the user's own interpreter: the standard library only.

`fanwise_child` is imported there under that name, without fanwise; `sitecustomize` is how it gets
into a test run of which no file and no option is changed.
"""
