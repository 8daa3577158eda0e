"""What the state and the target say of an asset, in the form in which `compare` takes it.

What was last written and what attempts may have left comes from here (`expected`), and what a comparison has to know of
the target (`facts`). What follows from a comparison does not belong here.
"""
