// What Swift cannot call of Linux. This file includes no header of the system: with _GNU_SOURCE, which process.c needs, some
// types are declared otherwise than in Swift's Glibc.

// prctl(2): no core dumps, and no debuggers of the same user. 0, or -1 and errno.
int cprocess_forbid_dumps(void);

// prctl(2). 0, or -1 and errno.
int cprocess_forbid_new_privileges(void);

// close_range(2): no file but the standard ones is open in a program that this process starts. 0, or -1 and errno.
int cprocess_keep_files(void);

// unix(7), SO_PEERCRED: the user of the process at the other end. 0, or -1.
int cprocess_peer_user(int socket, unsigned *user);

// Takes the code of the program and of its libraries out of this process. It comes back from their files when it runs.
void cprocess_release_code(void);
