/*
 * An app alone, without a thief. It refreshes, and sends each refresh twice: it repeats what seemed lost, or asks twice at
 * once. It uses the next token only when both copies have ended. Two other parts of it exchange. The grace period ends at
 * any time at which no answer is outstanding, and in a gap of service at any time. No grant may be revoked, and no exchange
 * refused.
 */
#include "rows.pml"
#include "exchange.pml"
#include "refresh.pml"

#define ROUNDS 3

byte app_grant, app_token = 1;  /* one token, in one place: what came last */
byte sent_grant, sent_token;    /* what is under way */
byte under_way;
bit twin_called;

proctype Exchanging(byte me; bit scope) {
    EXCHANGE;
    exchange(me, FIRST_LOGIN, scope);
    if
    :: answer == GRANTED -> atomic { app_grant = chain; app_token = next }
    :: else -> assert(answer == OUTAGE)
    fi
}

#define judge_honest_refresh(row, shown) \
    assert(answer == GRANTED || answer == REDELIVERED || answer == OUTAGE || \
        answer == REFUSED && grant[row].exchanged > shown)

proctype App(byte me) {
    REFRESH;
    byte rounds;
    do
    :: rounds < ROUNDS ->
        atomic { rounds++; sent_grant = app_grant; sent_token = app_token; under_way = 2; twin_called = 1 }
        refresh(me, sent_grant, sent_token);
        atomic {
            judge_honest_refresh(sent_grant, sent_token);
            if :: answer == GRANTED || answer == REDELIVERED -> app_grant = sent_grant; app_token = sent_token + 1 :: else fi;
            answer = 0; plan = 0; at = 0; other = 0;
            under_way--
        }
        under_way == 0
    :: else -> break
    od
}

/* The second copy of each request. */
proctype Twin(byte me) {
    REFRESH;
    byte rounds, row, token;
    do
    :: rounds < ROUNDS ->
        atomic {
            twin_called -> twin_called = 0; rounds++; row = sent_grant; token = sent_token;
#if MUTANT == 14
            under_way--
#endif
        }
        refresh(me, row, token);
        atomic {
            judge_honest_refresh(row, token);
            answer = 0; plan = 0; at = 0; other = 0;
#if MUTANT != 14
            under_way--
#endif
        }
    :: else -> break
    od
}

#define end_grace(row) \
    if :: uncounted && grant[row].fresh -> grant[row].cut = 1 :: else fi; \
    grant[row].fresh = 0

proctype Clock() {
    byte n;
    atomic {
        under_way == 0;
        do :: n < GRANTS -> end_grace(n); n++ :: else -> break od;
        n = 0
    }
}

/* No broker counts for a while. The first count notes that, and what it notes excuses late tokens for two minutes. */
proctype Gap() {
    byte n;
    uncounted = 1;
    atomic {
        do :: n < GRANTS -> end_grace(n); n++ :: else -> break od;
        n = 0
    }
#if MUTANT == 19
    uncounted = 0;
#endif
    atomic {
        do :: n < GRANTS -> grant[n].gap = grant[n].cut || grant[n].fresh; grant[n].cut = 0; n++ :: else -> break od;
        n = 0; uncounted = 0
    }
end_of_gap:
    atomic {
        /* The app has asked again, and has its answer. */
        under_way == 0 && app_token == grant[app_grant].generation;
        do :: n < GRANTS -> grant[n].gap = 0; n++ :: else -> break od;
        n = 0
    }
}

init {
    atomic {
        session[0].state = LIVE; sessions = 1;
        grant[0].state = LIVE; grant[0].generation = 1; grant[0].exchanged = 1; grants = 1;
        run Exchanging(1, 0);
        run Exchanging(2, 1);
        run App(3);
        run Twin(4);
        run Clock();
        run Gap()
    }
}
