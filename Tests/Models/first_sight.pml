/* A login that the broker has not seen: first sights of it at once, and logouts that come before, during and after them. */
#include "rows.pml"
#include "exchange.pml"
#include "refresh.pml"
#include "ends.pml"

proctype App(byte me; byte login; bit scope) {
    EXCHANGE;
    exchange(me, login, scope);
}

init {
    atomic {
        run App(1, FIRST_LOGIN, 0);
        run App(2, FIRST_LOGIN, 1);
        run App(3, SECOND_LOGIN, 0);
        run OperatorEnd(4);
        run Logout(5);
        run UserLogout(6)
    }
}
