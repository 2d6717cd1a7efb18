"""Canonical forms: what is written in several ways, and is the same to nginx, is one value here.

A form never depends on what the other side says, so that two sides are equal if their forms are. `values` has the words
of one directive, by its declaration; `lists` those of several directives of a block; `access` the rules of access, as
the function of addresses that they are; `defaults` what nginx does if nothing is stated. What a form takes as given
is recorded with the words (`Taken`), and reported if it is not the same on both sides.
"""
