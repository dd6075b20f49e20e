/*
 * The rows of one login as PostgreSQL keeps them under READ COMMITTED: what is committed, which transaction waits for
 * which, and which rows have another version than a call looked at. The other files build on this one.
 *
 * There is one name (issuer, sid) and one client. A name has several session rows in turn: the last one counts, the
 * others are dead. A call works as the SQL functions do:
 *     look    one snapshot of what is committed. The rule is judged on it: one step, because a snapshot is one instant.
 *     lock    FOR SHARE on the session row. The call goes on only if the row has the version that it looked at.
 *     write   the grant row, on the same condition.
 *     commit  All writes become visible and all locks are released: one step. The caller gets the answer afterwards.
 * A call that meets another version looks again. It is still the same transaction, so it keeps its locks.
 *
 * A version is not a number here. Each row has one bit for each call: "moved since this call looked". That answers the
 * same question as xmin = xmin, and the number of states stays finite.
 */

/* 0: the functions as they are. Any other number plants one fault; README.md lists them. */
#ifndef MUTANT
#define MUTANT 0
#endif

#define NOBODY 0        /* Calls have the numbers 1 to 7: the parameter `me`. */
#define NONE 9
#define SESSIONS 3
#define GRANTS 5
#define BIT(n) (1 << (n))

/* States of a session row (LIVE, DEAD) and of a grant row (all but DEAD). */
#define LIVE 1
#define DEAD 2
#define LATE 3          /* revoked: its token came after the grace period, which proves nothing yet */
#define REUSED 4        /* revoked by reuse detection: two parties hold the token family */

/* Answers. */
#define GRANTED 1       /* an exchange granted, or a refresh rotated */
#define REDELIVERED 2   /* a refresh returned the same successor once more */
#define REVOKED 3       /* a refresh revoked the grant */
#define REFUSED 4
#define OUTAGE 5        /* lock_timeout: nothing was decided, nothing was written */

/* An id_token tells when its user logged in. The end of a session refuses logins that are not later than its bar. */
#define FIRST_LOGIN 1
#define END_BAR 2       /* an operator's end: after the first login */
#define SECOND_LOGIN 3
#define LOGOUT_BAR 4    /* the IdP's logout: after both */

typedef Session {
    byte state;
    byte bar;           /* auth_time_after */
    byte share;         /* calls that hold the row FOR SHARE: one bit each */
    byte owner;         /* the transaction that has written or locked it FOR UPDATE, and has not committed */
    byte moved;         /* calls that looked at an earlier version: one bit each */
    byte inserter       /* the transaction that has inserted a live grant in it, and has not committed */
}

typedef Grant {
    byte state;
    byte session;
    byte generation;
    byte exchanged;     /* exchanged_generation */
    byte refreshed;     /* refreshed_generation */
    byte spent;         /* one bit for each spent generation before `exchanged` */
    bit scope;
    bit fresh;          /* whether the grace period since the last rotation is still running */
    bit cut;            /* it ended in a gap of service that is not noted yet */
    bit gap;            /* a noted gap of service extends it */
    bit replayed;       /* replayed_before: only a later login may exchange */
    byte owner;
    byte moved;
    byte used           /* ghost: one bit for each generation that a refresh was granted for */
}

Session session[SESSIONS];
Grant grant[GRANTS];
bit uncounted;                  /* no broker has counted for 6 s */
byte looking;                   /* calls that have looked and not ended: one bit each */
byte sessions;                  /* how many rows are committed */
byte grants;
byte beginner;         /* the transaction that has inserted a live session under the name */
byte name_owner;       /* advisory lock of the name: a logout alone, or first sights together */
byte name_share;
byte subject_owner;    /* the same of the user */
byte subject_share;
byte name_mark;                 /* a logout of the sid: the row that it leaves while another has the name */
byte subject_mark;              /* the last logout of the user */

/* Ghosts: what has been acknowledged. Nothing but assertions looks at them. */
byte acknowledged_bar;
bit end_acknowledged[SESSIONS];
bit theft_acknowledged[SESSIONS];

/* What every process needs for its transaction. */
#define TRANSACTION \
    byte at;            /* the session row that it looked at */ \
    byte chain;         /* the grant row */ \
    byte i; \
    bit touched;        /* it writes a new version of the session row */ \
    bit waits

/* A new statement: from here on every row has the version that this call looks at. */
inline snapshot(me) {
    looking = looking | BIT(me);
    i = 0;
    do
    :: i < SESSIONS -> session[i].moved = session[i].moved & ~BIT(me); i++
    :: else -> break
    od;
    i = 0;
    do
    :: i < GRANTS -> grant[i].moved = grant[i].moved & ~BIT(me); i++
    :: else -> break
    od;
    i = 0
}

/* The end of a transaction, by commit or by rollback. */
inline release(me) {
    i = 0;
    do
    :: i < SESSIONS ->
        session[i].share = session[i].share & ~BIT(me);
        if :: session[i].owner == me -> session[i].owner = NOBODY :: else fi;
        if :: session[i].inserter == me -> session[i].inserter = NOBODY :: else fi;
        session[i].moved = session[i].moved & ~BIT(me);
        i++
    :: else -> break
    od;
    i = 0;
    do
    :: i < GRANTS ->
        if :: grant[i].owner == me -> grant[i].owner = NOBODY :: else fi;
        grant[i].moved = grant[i].moved & ~BIT(me);
        i++
    :: else -> break
    od;
    i = 0;
    if :: beginner == me -> beginner = NOBODY :: else fi;
    if :: name_owner == me -> name_owner = NOBODY :: else fi;
    if :: subject_owner == me -> subject_owner = NOBODY :: else fi;
    name_share = name_share & ~BIT(me);
    subject_share = subject_share & ~BIT(me);
    looking = looking & ~BIT(me);
    touched = 0
}

inline find_newest(result) {
    if :: sessions == 0 -> result = NONE :: else -> result = sessions - 1 fi
}

inline find_live_grant(row, result) {
    result = NONE;
    i = 0;
    do
    :: i < grants -> if :: grant[i].state == LIVE && grant[i].session == row -> result = i :: else fi; i++
    :: else -> break
    od;
    i = 0
}

/*
 * Two transactions can wait for each other: each has locked what the other wants. PostgreSQL ends that by its
 * lock_timeout. In the model a waiting call gives up only if no process can take any other step.
 */
#ifdef DEADLOCK_IS_A_FAULT
#define lock_timeout false
#else
#define lock_timeout timeout
#endif

/* FOR SHARE. PostgreSQL locks the newest version, then compares it with the one that was looked at. */
#define can_share(row, me) (session[row].owner == NOBODY || session[row].owner == me)
/* UPDATE of a session row. */
#define can_own_session(row, me) \
    ((session[row].owner == NOBODY || session[row].owner == me) && (session[row].share & ~BIT(me)) == 0)
#define can_own_grant(row, me) (grant[row].owner == NOBODY || grant[row].owner == me)
