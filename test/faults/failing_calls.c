/* Preloaded into a process: lets the k-th call of a function of the system fail, or ends there.

   fail_at(name, k, ending) begins to count the calls of one function, or of all that touch files
   ("any"); ending: 0 the call fails, 1 the process is killed before it, 2 after it.
   calls_failed() stops counting, and says whether it came to that; calls_left() how many more it
   would have taken. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <dirent.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

enum { NONE, ANY, MALLOC, DLOPEN, FORK, OPEN, READ, WRITE, FSYNC, RENAME, UNLINK, MKDIR, CLOSE,
       MEMFD, STAT, LOCK, UTIME, SCAN, LAST };

static const char *const NAMES[] = {"none", "any", "malloc", "dlopen", "fork", "open", "read",
                                    "write", "fsync", "rename", "unlink", "mkdir", "close",
                                    "memfd", "stat", "lock", "utime", "scan"};

static atomic_int counted = NONE;
static atomic_long left = 0;
static atomic_int fired = 0;
static int ending = 0;

int fail_at(const char *name, long k, int how)
{
    for (int i = ANY; i < LAST; i++)
        if (strcmp(name, NAMES[i]) == 0) {
            ending = how;
            atomic_store(&fired, 0);
            atomic_store(&left, k);
            atomic_store(&counted, i);
            return 1;
        }
    return 0;
}

int calls_failed(void)
{
    atomic_store(&counted, NONE);
    return atomic_load(&fired);
}

long calls_left(void) { return atomic_load(&left); }

static int due(int call)
{
    const int which = atomic_load_explicit(&counted, memory_order_relaxed);
    if (which == NONE || (which != call && !(which == ANY && call >= OPEN)))
        return 0;
    if (atomic_fetch_sub(&left, 1) != 1)
        return 0;
    atomic_store(&fired, 1);
    if (ending == 1)
        kill(getpid(), SIGKILL);
    return 1;
}

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

#define CALL(call, error, failure, type, real)                                                     \
    const int is_due = due(call);                                                                  \
    if (is_due && ending == 0) {                                                                   \
        errno = error;                                                                             \
        return failure;                                                                            \
    }                                                                                              \
    const type result = real;                                                                      \
    if (is_due)                                                                                    \
        kill(getpid(), SIGKILL);                                                                   \
    return result;

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *old, size_t size);

typedef void *place;

void *malloc(size_t size) { CALL(MALLOC, ENOMEM, NULL, place, __libc_malloc(size)) }

void *calloc(size_t count, size_t size)
{
    CALL(MALLOC, ENOMEM, NULL, place, __libc_calloc(count, size))
}

void *realloc(void *old, size_t size)
{
    CALL(MALLOC, ENOMEM, NULL, place, __libc_realloc(old, size))
}

void *dlopen(const char *name, int flags)
{
    CALL(DLOPEN, ENOMEM, NULL, place, NEXT(dlopen)(name, flags))
}

pid_t fork(void) { CALL(FORK, EAGAIN, -1, pid_t, NEXT(fork)()) }

pid_t vfork(void) { return fork(); } /* what returns from here must have a stack of its own */

#define OPENED(name)                                                                               \
    int name(const char *path, int flags, ...)                                                     \
    {                                                                                              \
        va_list rest;                                                                              \
        va_start(rest, flags);                                                                     \
        const mode_t mode = va_arg(rest, mode_t);                                                  \
        va_end(rest);                                                                              \
        CALL(OPEN, EMFILE, -1, int, NEXT(name)(path, flags, mode))                                 \
    }
OPENED(open)
OPENED(open64)

#define OPENED_AT(name)                                                                            \
    int name(int place, const char *path, int flags, ...)                                          \
    {                                                                                              \
        va_list rest;                                                                              \
        va_start(rest, flags);                                                                     \
        const mode_t mode = va_arg(rest, mode_t);                                                  \
        va_end(rest);                                                                              \
        CALL(OPEN, EMFILE, -1, int, NEXT(name)(place, path, flags, mode))                          \
    }
OPENED_AT(openat)
OPENED_AT(openat64)

ssize_t write(int file, const void *bytes, size_t count)
{
    CALL(WRITE, ENOSPC, -1, ssize_t, NEXT(write)(file, bytes, count))
}

int fsync(int file) { CALL(FSYNC, EIO, -1, int, NEXT(fsync)(file)) }

int close(int file) { CALL(CLOSE, EIO, (NEXT(close)(file), -1), int, NEXT(close)(file)) }

int rename(const char *from, const char *to) { CALL(RENAME, EIO, -1, int, NEXT(rename)(from, to)) }

int renameat(int place, const char *from, int there, const char *to)
{
    CALL(RENAME, EIO, -1, int, NEXT(renameat)(place, from, there, to))
}

int unlink(const char *path) { CALL(UNLINK, EIO, -1, int, NEXT(unlink)(path)) }

int unlinkat(int place, const char *path, int flags)
{
    CALL(UNLINK, EIO, -1, int, NEXT(unlinkat)(place, path, flags))
}

int mkdir(const char *path, mode_t mode) { CALL(MKDIR, ENOSPC, -1, int, NEXT(mkdir)(path, mode)) }

int memfd_create(const char *name, unsigned flags)
{
    CALL(MEMFD, EMFILE, -1, int, NEXT(memfd_create)(name, flags))
}

ssize_t read(int file, void *bytes, size_t count)
{
    CALL(READ, EIO, -1, ssize_t, NEXT(read)(file, bytes, count))
}

#define STATUS(name, type)                                                                         \
    int name(int file, struct type *status)                                                        \
    {                                                                                              \
        CALL(STAT, EIO, -1, int, NEXT(name)(file, status))                                         \
    }
STATUS(fstat, stat)
STATUS(fstat64, stat64)

#define STATUS_OF(name, type)                                                                      \
    int name(const char *path, struct type *status)                                                \
    {                                                                                              \
        CALL(STAT, EIO, -1, int, NEXT(name)(path, status))                                         \
    }
STATUS_OF(stat, stat)
STATUS_OF(stat64, stat64)
STATUS_OF(lstat, stat)
STATUS_OF(lstat64, stat64)

#define STATUS_AT(name, type)                                                                      \
    int name(int place, const char *path, struct type *status, int flags)                          \
    {                                                                                              \
        CALL(STAT, EIO, -1, int, NEXT(name)(place, path, status, flags))                           \
    }
STATUS_AT(fstatat, stat)
STATUS_AT(fstatat64, stat64)

int flock(int file, int how) { CALL(LOCK, ENOLCK, -1, int, NEXT(flock)(file, how)) }

int utimensat(int place, const char *path, const struct timespec times[2], int flags)
{
    CALL(UTIME, EPERM, -1, int, NEXT(utimensat)(place, path, times, flags))
}

int rmdir(const char *path) { CALL(UNLINK, EIO, -1, int, NEXT(rmdir)(path)) }

typedef struct dirent *entry;
typedef struct dirent64 *entry64;

entry readdir(DIR *folder) { CALL(SCAN, EIO, NULL, entry, NEXT(readdir)(folder)) }

entry64 readdir64(DIR *folder) { CALL(SCAN, EIO, NULL, entry64, NEXT(readdir64)(folder)) }
