"""The critical edition: what the paper prints, where each of its objects lives, and how the book draws.

``paper``     the paper's numbered objects and tables, as data
``index``     from an object of the paper to the code that implements it
``typeset``   formulas that were typed as plain text, as TeX
``scorecard`` the register of claims, as the book shows it
``figures``   the look of the figures
``drawn``     what a figure shows, as a line of text
``drawings``  drawings of the domains
``backups``   drawings of traces and returns
``explore``   the live figures
``plots``     a quick figure of any result
"""

__all__: list[str] = []
