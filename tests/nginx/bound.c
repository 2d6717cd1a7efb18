/* bound PARENT FILES [OPTION...] -- COMMAND...: run a command that ends with the process PARENT, and not at all if that
 * is gone.
 *
 * FILES is the soft limit of its open files, at most the hard one, which -1 means; "same" leaves it as it is. Options
 * confine it as nginxopt/system/confinement.py does, in their order:
 *   nFD            enter the namespace that is open as FD in PARENT
 *   lLIMIT=MOST    lower a limit of resources for good
 *   uUSER:GROUP    be that user, without further groups
 *   p              gain no privileges
 *   wRIGHTS=PATH   from the last one on, write beneath these paths alone (Landlock) */
#define _GNU_SOURCE
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

static int lower(const char *word)
{
    char *most;
    struct rlimit limit;
    int kind = strtol(word, &most, 10);
    rlim_t value = strtoull(most + 1, NULL, 10);

    if (getrlimit(kind, &limit) != 0) {
        return -1;
    }
    limit.rlim_cur = limit.rlim_max = limit.rlim_max < value ? limit.rlim_max : value;
    return setrlimit(kind, &limit);
}

static int be(const char *word)
{
    char *group;
    uid_t user = strtoul(word, &group, 10);
    gid_t gid = strtoul(group + 1, NULL, 10);

    return setgroups(0, NULL) != 0 || setgid(gid) != 0 || setuid(user) != 0;
}

static void allow(int ruleset, const char *word)
{
    char *path;
    struct { uint64_t rights; int32_t beneath; } __attribute__((packed)) rule;

    rule.rights = strtoull(word, &path, 10);
    rule.beneath = open(path + 1, O_PATH | O_CLOEXEC);
    if (rule.beneath >= 0) {
        syscall(445, ruleset, 1, &rule, 0);
    }
}

int main(int count, char **words)
{
    struct rlimit files;
    char folder[PATH_MAX];
    int i, n, ruleset = -1, spaces[8];

    if (count < 5 || getppid() != atoi(words[1]) || getrlimit(RLIMIT_NOFILE, &files) != 0 || !getcwd(folder, PATH_MAX)) {
        return 1;
    }
    if (strcmp(words[2], "same") != 0) {
        long soft = atol(words[2]);
        files.rlim_cur = soft < 0 || (rlim_t) soft > files.rlim_max ? files.rlim_max : (rlim_t) soft;
        if (setrlimit(RLIMIT_NOFILE, &files) != 0) {
            return 1;
        }
    }
    /* All are opened before one is entered, from which the others cannot be seen. */
    for (i = 3, n = 0; i < count && words[i][0] == 'n' && n < 8; i++, n++) {
        char path[64];
        snprintf(path, sizeof path, "/proc/%s/fd/%s", words[1], words[i] + 1);
        if ((spaces[n] = open(path, O_RDONLY | O_CLOEXEC)) < 0) {
            return 1;
        }
    }
    for (int each = 0; each < n; each++) {
        if (setns(spaces[each], 0) != 0) {
            return 1;
        }
    }
    if (n && chdir(folder) != 0) { /* entering a mount namespace changes to its root */
        return 1;
    }
    for (; i < count && strcmp(words[i], "--") != 0; i++) {
        const char *rest = words[i] + 1;
        switch (words[i][0]) {
        case 'l':
            if (lower(rest) != 0) return 1;
            break;
        case 'u':
            if (be(rest) != 0) return 1;
            break;
        case 'p':
            if (prctl(PR_SET_DUMPABLE, 0) != 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return 1;
            break;
        case 'w':
            if (ruleset < 0) {
                uint64_t rights = strtoull(rest, NULL, 10); /* the first has all */
                if ((ruleset = syscall(444, &rights, sizeof rights, 0)) < 0) return 1;
            }
            allow(ruleset, rest);
            break;
        default:
            return 1;
        }
    }
    if (ruleset >= 0 && (syscall(446, ruleset, 0) != 0 || close(ruleset) != 0)) {
        return 1;
    }
    prctl(PR_SET_PDEATHSIG, SIGTERM); /* last, as a change of the user undoes it */
    if (getppid() != atoi(words[1]) || i + 1 >= count) {
        return 1;
    }
    execvp(words[i + 1], words + i + 1);
    return 127;
}
