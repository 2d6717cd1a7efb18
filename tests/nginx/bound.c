/* bound PARENT FILES COMMAND...: run a command that ends with the process PARENT, and not at all if that is gone.
 *
 * FILES is the soft limit of its open files, at most the hard one, which -1 means; "same" leaves it as it is. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

int main(int count, char **words)
{
    struct rlimit files;

    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (count < 4 || getppid() != atoi(words[1]) || getrlimit(RLIMIT_NOFILE, &files) != 0) {
        return 1;
    }
    if (strcmp(words[2], "same") != 0) {
        long soft = atol(words[2]);
        files.rlim_cur = soft < 0 || (rlim_t) soft > files.rlim_max ? files.rlim_max : (rlim_t) soft;
        if (setrlimit(RLIMIT_NOFILE, &files) != 0) {
            return 1;
        }
    }
    execvp(words[3], words + 3);
    return 127;
}
