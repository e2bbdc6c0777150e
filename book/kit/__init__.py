"""What serves readers of the book only: how it draws, its live figures, the scorecard, the index of the paper.

``figures``     the look of the figures, and what a picture carries with it
``in_words``    what a figure shows, as a line of text; ``figure_data`` as a table; ``themed`` as part of a page
``drawings``    drawings of the domains; ``backups`` of traces and returns
``live``        live figures: their one form; ``live_figures`` declares them
``examples``    small examples that chapters share with their live figures
``scorecard``   the register of claims, as the book shows it; ``typeset`` its formulas
``index``       from an object of the paper to the code that implements it
"""
