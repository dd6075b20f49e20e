/*
 * A thief copies the app's refresh token at some moment. Both refresh. The app also exchanges, and any exchange may stall
 * at any step. The grace period may end at any time. There is a grant at the beginning, or none.
 */
#include "rows.pml"
#include "exchange.pml"
#include "refresh.pml"

byte app_grant = NONE, app_token;

proctype Exchanging(byte me; bit scope) {
    EXCHANGE;
    exchange(me, FIRST_LOGIN, scope);
    if
    :: answer == GRANTED -> atomic { app_grant = chain; app_token = next }
    :: else
    fi
}

proctype App(byte me) {
    REFRESH;
    byte row, token, calls;
    do
    :: calls < 3 ->
        atomic { app_grant != NONE -> row = app_grant; token = app_token; calls++ }
        refresh(me, row, token);
        acknowledge_theft();
        if
        :: answer == GRANTED || answer == REDELIVERED -> atomic { app_grant = row; app_token = token + 1 }
        :: else
        fi
    :: else -> break
    od
}

proctype Thief(byte me) {
    REFRESH;
    byte row, token, calls;
    atomic { app_grant != NONE -> row = app_grant; token = app_token }
    do
    :: calls < 2 ->
        calls++;
        refresh(me, row, token);
        acknowledge_theft();
        if :: answer == GRANTED || answer == REDELIVERED -> token++ :: else -> break fi
    :: else -> break
    od
}

proctype Clock() {
    byte n;
    d_step { do :: n < GRANTS -> grant[n].fresh = 0; n++ :: else -> break od; n = 0 }
}

init {
    atomic {
        session[0].state = LIVE; sessions = 1;
        if
        :: grant[0].state = LIVE; grant[0].generation = 1; grant[0].exchanged = 1; grant[0].refreshed = 1; grants = 1;
            app_grant = 0; app_token = 1
        :: skip
        fi;
        run Exchanging(1, 0);
        run Exchanging(2, 1);
        run App(3);
        run Thief(4);
        run Clock()
    }
}
