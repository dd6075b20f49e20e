/// What the shells that end other people's processes have in common.
package enum ShellRegister {
    /// A loop of sh(1) that reads orders, `watch PID` and `release PID`, until nobody is left who could give any: `$pids` are
    /// then the processes that are to be ended.
    package static let loop = """
        pids=
        while read -r order pid; do
            kept=
            for known in $pids; do [ "$known" = "$pid" ] || kept="$kept $known"; done
            pids=$kept
            [ "$order" = watch ] && pids="$pids $pid"
        done
        """
}
