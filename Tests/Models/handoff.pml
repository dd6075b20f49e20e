/*
 * Apps hand logins to a web app, and the web app redeems the codes: one of them in two requests at once. The session ends
 * meanwhile. A login may also be one that the broker has not seen.
 *
 * The one client of these models is the web app here. The request of an app is only judged, so it has no grant.
 */
#include "rows.pml"

#define CODES 2

typedef Handoff {
    bit made;
    byte login;         /* when the user of the code logged in */
    byte session;       /* the live session when it was made; NONE: the broker had not seen the login */
    bit redeemed;
    byte owner
}
Handoff handoff[CODES];

/* The code is used up in the transaction of the grant. `code` belongs to the process. */
#define on_grant \
    assert(!handoff[code].redeemed); \
    handoff[code].redeemed = 1; \
    assert(handoff[code].login > acknowledged_bar); \
    /* Another session is one that began after the end of the code's, by a login that this end does not refuse. */ \
    assert(handoff[code].session == NONE || handoff[code].session == at || \
        handoff[code].login > session[handoff[code].session].bar)

#include "exchange.pml"
#include "ends.pml"

/* make_web_handoff: it judges as an exchange does, and writes no grant. */
proctype Making(byte me; byte code; byte login) {
    TRANSACTION;
again:
    atomic {
        snapshot(me);
        find_newest(at);
        if
        :: at != NONE && login <= session[at].bar -> goto ends
        :: at != NONE && login > session[at].bar && session[at].state == DEAD -> at = NONE
        :: else
        fi
    }
    if
    :: at != NONE ->
        if
        :: atomic {
            can_share(at, me) -> session[at].share = session[at].share | BIT(me);
            if :: session[at].moved & BIT(me) -> goto again :: else fi
        }
        :: lock_timeout -> goto ends
        fi
    :: else
    fi;
    atomic {
        assert(at == NONE || !end_acknowledged[at]);
        handoff[code].login = login; handoff[code].session = at; handoff[code].made = 1
    }
ends:
    atomic { release(me) }
}

/* redeem_web_handoff. A redemption by another client, origin or verifier finds no code. */
proctype Redeeming(byte me; byte code) {
    EXCHANGE;
end_without_code:
    handoff[code].made;
#if MUTANT != 15
    if
    :: atomic { handoff[code].owner == NOBODY -> handoff[code].owner = me }
    :: lock_timeout -> goto done
    fi;
#endif
    if
    :: handoff[code].redeemed -> goto done
    :: else
    fi;
#if MUTANT == 16
    exchange(me, LOGOUT_BAR + 1, 0);
#else
    exchange(me, handoff[code].login, 0);
#endif
done:
    atomic { if :: handoff[code].owner == me -> handoff[code].owner = NOBODY :: else fi }
}

init {
    atomic {
        if
        :: session[0].state = LIVE; sessions = 1
        :: skip
        fi;
        run Making(1, 0, FIRST_LOGIN);
        run Making(2, 1, SECOND_LOGIN);
        run Redeeming(3, 0);
        run Redeeming(4, 0);
        run Redeeming(5, 1);
        run OperatorEnd(6);
        run Logout(7)
    }
}
