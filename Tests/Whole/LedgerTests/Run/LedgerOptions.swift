import Foundation

/// How long a run is and what it chooses.
struct LedgerOptions: Sendable {
    /// `LEDGER_FAILOVERS`: how often the primary is killed; 3 unless said otherwise.
    let failovers: Int
    /// `LEDGER_USERS`: how many people use the brokers at once; 8 unless said otherwise.
    let users: Int
    /// `LEDGER_SEED`: of every choice that is left to chance; another one in every run unless said otherwise.
    let seed: UInt64

    static let chosen = LedgerOptions(ProcessInfo.processInfo.environment)

    private init(_ environment: [String: String]) {
        failovers = environment["LEDGER_FAILOVERS"].flatMap(Int.init) ?? 3
        users = environment["LEDGER_USERS"].flatMap(Int.init) ?? 8
        seed = environment["LEDGER_SEED"].flatMap(UInt64.init) ?? UInt64.random(in: 0...UInt64.max)
    }

    /// For all of it: a bound for a run that hangs.
    var minutes: Int { 4 + failovers }
}
