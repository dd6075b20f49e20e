/* One exchange: the function `exchange` for one call. */

/* What an exchange plans after its look. */
#define REFUSES 0
#define WRITES 1
#define BEGINS 2        /* a first sight, or a login under the name of a dead session: it opens the session, too */

#define grant_is_busy(n) \
    (grant[n].state == LIVE && grant[n].session == at && grant[n].owner != NOBODY && grant[n].owner != me)
#define some_grant_is_busy \
    (grant_is_busy(0) || grant_is_busy(1) || grant_is_busy(2) || grant_is_busy(3) || grant_is_busy(4))

/* A new session takes over the bar of its name. */
inline open_session(shown_login) {
    assert(sessions < SESSIONS);
    session[sessions].state = LIVE;
#if MUTANT != 10
    session[sessions].bar = bar;
#endif
    sessions++
}

/* What the caller's transaction commits with a grant: see handoff.pml. */
#ifndef on_grant
#define on_grant skip
#endif

/* The answer stays in `answer`; `chain` and `next` name the refresh token. */
#define EXCHANGE \
    TRANSACTION; \
    byte plan, next, bar, answer; \
    bit repeats

inline exchange(me, shown_login, shown_scope) {
    answer = REFUSED;
again:
    atomic {
        snapshot(me);
        find_newest(at);
        chain = NONE; next = 1; repeats = 0;
        if
        :: at == NONE -> plan = BEGINS
        :: else ->
            if
            :: shown_login <= session[at].bar -> plan = REFUSES
            :: shown_login > session[at].bar && session[at].state == DEAD -> plan = BEGINS
            :: else ->
                plan = WRITES;
                find_live_grant(at, chain);
                if
                :: chain != NONE ->
                    if :: grant[chain].replayed -> plan = REFUSES :: else fi;
                    repeats = grant[chain].fresh && grant[chain].generation > grant[chain].refreshed &&
                        grant[chain].scope == shown_scope;
                    next = grant[chain].generation + 1 - repeats
                :: else ->
                    /* Reuse detection revoked a grant of this client. The login is not later than that. */
                    do
                    :: i < grants ->
                        if :: grant[i].session == at && grant[i].state == REUSED -> plan = REFUSES :: else fi;
                        i++
                    :: else -> break
                    od;
                    i = 0
                fi
            fi
        fi
    }
    if
    :: plan == REFUSES -> answer = REFUSED; goto ends
    :: plan == BEGINS -> goto begins
    :: else
    fi;

    /* Lock. */
#if MUTANT != 1
    if
    :: atomic {
        can_share(at, me) -> session[at].share = session[at].share | BIT(me);
#if MUTANT != 3
        if :: session[at].moved & BIT(me) -> goto again :: else fi
#endif
    }
    :: lock_timeout -> answer = OUTAGE; goto ends
    fi;
#endif
    /* Write. */
    if
    :: chain != NONE ->
        if
        :: atomic {
            can_own_grant(chain, me) -> grant[chain].owner = me;
#if MUTANT == 2
            /* All that is left is the trigger guard_grant: the statement fails. */
            if
            :: grant[chain].state != LIVE || (next != grant[chain].generation && next != grant[chain].generation + 1) ->
                answer = OUTAGE; goto ends
            :: else
            fi
#else
            if :: grant[chain].moved & BIT(me) -> goto again :: else fi
#endif
        }
        :: lock_timeout -> answer = OUTAGE; goto ends
        fi
    :: else ->
        /* The unique index waits for a transaction that has written a live grant of this client, and compares then. */
        if
        :: atomic {
            (session[at].inserter == NOBODY || session[at].inserter == me) && !some_grant_is_busy ->
            find_live_grant(at, chain);
            if :: chain != NONE -> goto again :: else fi;
            session[at].inserter = me
        }
        :: lock_timeout -> answer = OUTAGE; goto ends
        fi
    fi;
    goto commits;

begins:
    /*
     * No lock of the dead row that was looked at: the two triggers of an insertion look again. First keep_logged_out:
     * shared locks of user and name, then a look of its own.
     */
    if
    :: atomic { subject_owner == NOBODY -> subject_share = subject_share | BIT(me) }
    :: lock_timeout -> answer = OUTAGE; goto ends
    fi;
    if
    :: atomic { name_owner == NOBODY -> name_share = name_share | BIT(me) }
    :: lock_timeout -> answer = OUTAGE; goto ends
    fi;
    atomic {
        find_newest(at);
        bar = (at == NONE -> 0 : session[at].bar);
        if
        :: shown_login <= bar || shown_login <= name_mark || shown_login <= subject_mark -> answer = REFUSED; goto ends
        :: else
        fi
    }
    /* The unique index, as above. It knows the live sessions only. */
    if
    :: atomic {
        beginner == NOBODY || beginner == me ->
        find_newest(at);
        if
        :: at != NONE && session[at].state == LIVE -> goto again
        :: else -> beginner = me
        fi
    }
    :: lock_timeout -> answer = OUTAGE; goto ends
    fi;
#if MUTANT != 12 && MUTANT != 10
    /* The trigger guard_limits: a session of the name has begun and ended since the look of the other trigger. */
    atomic {
        find_newest(at);
        if
        :: at != NONE && session[at].bar > bar -> answer = OUTAGE; goto ends
        :: else
        fi
    }
#endif
#if MUTANT == 5
    /* Two transactions: the session is there, and the grant comes later, without a new look. */
    atomic { open_session(shown_login); release(me); plan = WRITES; at = sessions - 1 }
    atomic { session[at].inserter == NOBODY -> session[at].inserter = me }
#endif

commits:
    atomic {
        if
        :: plan == BEGINS -> open_session(shown_login); at = sessions - 1
        :: else
        fi;
        if
        :: chain == NONE ->
            chain = grants;
            grants++;
            assert(chain < GRANTS);
            grant[chain].state = LIVE;
            grant[chain].session = at;
            grant[chain].refreshed = 1
        :: else ->
            /* A grant is written only as its next generation, or as it was. */
            assert(grant[chain].state == LIVE);
            assert(repeats || next == grant[chain].generation + 1);
            assert(!repeats || next == grant[chain].generation);
            if
#if MUTANT != 7
            :: !repeats && grant[chain].generation == grant[chain].refreshed &&
                grant[chain].generation >= grant[chain].exchanged + 2 ->
                i = grant[chain].exchanged;
                do
                :: i <= grant[chain].generation - 2 -> grant[chain].spent = grant[chain].spent | BIT(i); i++
                :: else -> break
                od;
                i = 0
#endif
            :: else
            fi
        fi;
        grant[chain].generation = next;
        grant[chain].exchanged = next;
        grant[chain].scope = shown_scope;
        if :: !repeats -> grant[chain].fresh = 1 :: else fi;
        grant[chain].moved = looking;
        answer = GRANTED;
        assert(session[at].state == LIVE && !end_acknowledged[at]);
        assert(shown_login > acknowledged_bar);
        assert(!theft_acknowledged[at]);
        on_grant
    }
ends:
    atomic { release(me) }
}
