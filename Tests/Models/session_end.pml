/* A live session with one grant, and two ends of it, while apps exchange with an old and a new login and refresh. */
#include "rows.pml"
#include "exchange.pml"
#include "refresh.pml"
#include "ends.pml"

proctype Exchanging(byte me; byte login; bit scope) { EXCHANGE; exchange(me, login, scope) }

proctype Refreshing(byte me) {
    REFRESH;
    byte token = 1;
    do
    :: token < 3 ->
        refresh(me, 0, token);
        if :: answer == GRANTED || answer == REDELIVERED -> token++ :: else -> break fi
    :: else -> break
    od
}

init {
    atomic {
        session[0].state = LIVE; sessions = 1;
        grant[0].state = LIVE; grant[0].generation = 1; grant[0].exchanged = 1; grant[0].refreshed = 1; grant[0].fresh = 1;
        grants = 1;
        run Exchanging(1, FIRST_LOGIN, 0);
        run Exchanging(2, SECOND_LOGIN, 1);
        run Refreshing(3);
        run OperatorEnd(4);
        run Logout(5)
    }
}
