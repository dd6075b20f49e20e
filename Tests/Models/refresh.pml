/* One refresh: the function `refresh` for one call, with what reuse detection revokes. */

/* What a refresh plans after its look. */
#define ANSWERS 0       /* writes nothing */
#define ROTATES 1
#define REVOKES_LATE 2  /* the grace period is over */
#define REVOKES 3       /* reuse: two parties hold the token family */
#define PROVES 4        /* the same of a grant that is revoked as LATE already */

#define REFRESH \
    TRANSACTION; \
    byte plan, other, first, answer

/* Whether a rotation made the successor of this generation and the successor was presented, too: the ghost's word. */
#define is_theft(row, shown) ((grant[row].used & BIT(shown)) && (grant[row].used & BIT(shown + 1)))

/* Without a grace period: whether no gap of service, noted or perhaps under way, excuses a token. */
#if MUTANT == 17
#define is_late(row) (!uncounted)
#elif MUTANT == 18
#define is_late(row) (!grant[row].gap)
#else
#define is_late(row) (!grant[row].gap && !uncounted)
#endif

inline refresh(me, row, shown) {
    answer = REFUSED;
again:
    atomic {
        snapshot(me);
        at = grant[row].session;
        /* The first generation of the run: an exchange made it, refreshes made those after it. */
        first = (grant[row].generation > grant[row].refreshed -> grant[row].generation : grant[row].exchanged);
        plan = ANSWERS; answer = REFUSED;
        if
        :: grant[row].state == REUSED -> skip
        :: grant[row].state == LATE ->
            if
            :: grant[row].spent & BIT(shown) -> plan = PROVES
            :: !(grant[row].spent & BIT(shown)) && shown >= first && shown + 2 <= grant[row].generation -> plan = PROVES
            :: !(grant[row].spent & BIT(shown)) && shown == grant[row].generation && shown > first -> plan = PROVES
            :: else
            fi
        :: else ->
            if
            :: grant[row].spent & BIT(shown) -> plan = REVOKES
            :: !(grant[row].spent & BIT(shown)) && shown >= first && shown + 2 <= grant[row].generation ->
#if MUTANT == 6
                if :: grant[row].fresh -> answer = REDELIVERED :: else -> plan = REVOKES fi
#else
                plan = REVOKES
#endif
            :: shown >= first && shown + 1 == grant[row].generation && !grant[row].fresh && is_late(row) ->
                plan = REVOKES_LATE
            :: shown >= first && shown + 1 == grant[row].generation && !grant[row].fresh && !is_late(row) &&
                !grant[row].gap -> answer = OUTAGE
            :: shown >= first && shown + 1 == grant[row].generation && (grant[row].fresh || grant[row].gap && !is_late(row)) &&
                session[at].state == LIVE -> answer = REDELIVERED
            :: shown == grant[row].generation && session[at].state == LIVE -> plan = ROTATES
            :: else
            fi
        fi;
        if
        :: plan == ANSWERS ->
            /* A redelivery is granted at this instant. */
            assert(answer != REDELIVERED || !end_acknowledged[at]);
            assert(answer != REDELIVERED || !theft_acknowledged[at]);
            /* A token that proves theft is not answered as if it were harmless. */
            assert(grant[row].state != LIVE || !is_theft(row, shown))
        :: else
        fi;
        first = 0
    }
    if
    :: plan == ANSWERS -> goto ends
    :: plan == ROTATES ->
#if MUTANT != 1
        if
        :: atomic {
            can_share(at, me) -> session[at].share = session[at].share | BIT(me);
#if MUTANT != 3
            if :: session[at].moved & BIT(me) -> goto again :: else fi
#endif
        }
        :: lock_timeout -> answer = OUTAGE; goto ends
        fi
#endif
    :: plan == REVOKES || plan == PROVES ->
        /* Exchanges under way are waited for. Those that come later see another version of the session. */
#if MUTANT == 4
        if
        :: plan == REVOKES -> goto writes
        :: else
        fi;
#endif
        if
        :: atomic { can_own_session(at, me) -> session[at].owner = me; touched = (session[at].state == LIVE) }
        :: lock_timeout -> answer = OUTAGE; goto ends
        fi
    :: else
    fi;
writes:
    if
    :: atomic {
        can_own_grant(row, me) -> grant[row].owner = me;
#if MUTANT == 13
        if :: plan == ROTATES && (grant[row].moved & BIT(me)) -> goto again :: else fi
#else
        if :: grant[row].moved & BIT(me) -> goto again :: else fi
#endif
    }
    :: lock_timeout -> answer = OUTAGE; goto ends
    fi;
    other = NONE;
    if
    :: plan == PROVES ->
        /* The grant that began since goes with it. */
        d_step { find_live_grant(at, other) }
        if
        :: other != NONE ->
            if
            :: atomic {
                can_own_grant(other, me) -> grant[other].owner = me;
                if :: grant[other].state != LIVE -> other = NONE :: else fi
            }
            :: lock_timeout -> answer = OUTAGE; goto ends
            fi
        :: else
        fi
    :: else
    fi;
    /* Commit. */
    d_step {
        if
        :: plan == ROTATES ->
            assert(grant[row].generation == shown);
            grant[row].used = grant[row].used | BIT(shown);
            grant[row].generation = shown + 1;
            grant[row].refreshed = shown + 1;
            grant[row].fresh = 1; grant[row].cut = 0; grant[row].gap = 0;
            answer = GRANTED;
            assert(!end_acknowledged[at] && session[at].state == LIVE);
            assert(!theft_acknowledged[at])
        :: plan == REVOKES_LATE ->
            /* What is revoked is what was judged: no exchange has taken the token's place since. */
            assert(grant[row].state == LIVE && shown + 1 == grant[row].generation && shown >= grant[row].exchanged);
            grant[row].state = LATE;
            answer = REVOKED
        :: else ->
            grant[row].state = REUSED; answer = REVOKED
#if MUTANT != 8
            ; if :: other != NONE -> grant[other].state = REUSED; grant[other].moved = looking :: else fi
#endif
        fi;
        grant[row].moved = looking;
        if :: touched -> session[at].moved = looking :: else fi
    }
ends:
    atomic { release(me) }
}

/* The caller has the answer "revoked" to a token that proves theft: nothing may be live from here on. */
inline acknowledge_theft() {
    d_step {
        if
        :: answer == REVOKED && (plan == REVOKES || plan == PROVES) ->
            theft_acknowledged[at] = 1;
            find_live_grant(at, other);
            assert(other == NONE)
        :: else
        fi;
        plan = 0; at = 0; other = 0
    }
}
