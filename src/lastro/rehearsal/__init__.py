"""
Lastro under real applications: replayed for proof (`demo`), or as load against criteria set before (`rehearse`).
"""
