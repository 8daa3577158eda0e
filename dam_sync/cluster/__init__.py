"""Worker processes on Dask: the only package that imports it. Needs the extra `cluster`."""
