"""Compiles chains of `if`s that compare the same variable to one lookup in a map.

The map gives the number of the statement that takes effect: of the first true condition if each ends the script, of the
last one if each sets a variable. Then follows an `if` for each number, with its statement. `proof` has the lemmas.
"""
