"""Sweeps: settings × runs as data, computed anywhere, kept on disk, never computed twice.

``setting``  the base class that gives a setting its key
``names``    the one table of names by which files know what made them
``sweep``    an experiment as data, its tasks, and the call that computes what is missing
``workers``  where tasks are computed: in this process, in local ones, on a Dask cluster
``progress`` how long it will take, and how far it is
``store``    arrays on disk that are either complete or recognised as incomplete
``results``  labelled results, as files that can be checked run by run
``own``      a study of your own from a function that makes one run
"""

__all__: list[str] = []
