"""An application with a table of its own, and its tests of lastro.django."""
