"""What a configuration costs under its own traffic: `nginxopt profile`.

A log is read in pieces (`reading`). The native core asks the model of requests once for each distinct request, and adds
each line to the *cell* of its outcome: a class of requests, such as those that one location answered with one status,
has a number of requests, durations and bytes. These sums are a `Profile` (`sums`). It identifies directives by their
place, so that profiles of several days or machines can be added, and reports need nothing else.

nginx's own work is estimated from these sums. `work` reads what the settings of each level make nginx do (`facts`), and
multiplies the numbers of requests and bytes with the measured cost of each part (`terms`). `measuring` replaces
estimates by running one request of each class on a private nginx.
"""
