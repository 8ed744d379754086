"""A space with several levels of conditions, which tests of this folder share."""

import parzax as px

SPACE = px.Space(
    {
        "c": px.Categorical(["a", "b", "d"]),
        "k": px.Int(1, 12, when=px.In("c", ["a", "b"])),
        "x": (
            px.Float(1e-3, 1, log=True, when=px.Between("k", 3, 9)),
            px.Float(2, 7, when=px.In("c", ["d"])),
        ),
        "y": px.Float(0, 1),
        "z": px.Int(0, 3, when=px.Between("y", high=0.3)),
    }
)
