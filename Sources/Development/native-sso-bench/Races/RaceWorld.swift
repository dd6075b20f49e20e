import BrokerTesting
import Crypto
import Glibc
import PostgresClient

/// One login, the actors that race on it, and what has been acknowledged to each.
struct RaceWorld: Sendable {
    enum Start: String, CaseIterable {
        case unseen, live, granted, late, ended, over
    }

    struct Actor: Sendable {
        /// Remaining transactions, each a list of calls. The first may have begun.
        var transactions: [[RaceCall]]
        var hasBegun = false
        /// Answers that count once they are committed.
        var pending: [RaceAnswer] = []
        var asked: RaceQuestion?
        /// It is one of the copies of the app's request.
        var isShowing = false
        /// What the app has after the commit.
        var learns: Token?
        /// If it fails, sessions may be ended in part.
        var isEnding = false
    }

    /// A generation of a grant.
    struct Token: Hashable, Sendable {
        let grant: [UInt8]
        let generation: Int32
    }

    let number: Int
    let start: Start
    /// The app never shows a spent token, and there is no thief.
    let isHonest: Bool
    /// SHA-256 of its `sid`.
    let sidDigest: [UInt8]
    let subject: String
    let device: [UInt8]
    /// Whole seconds since 1970: all instants are told from here.
    let base: Int64
    var actors: [Actor] = []
    var random: SeededRandom

    // Acknowledged by an answer: ended sessions, and logins that get no more tokens.
    var ended: Set<[UInt8]> = []
    var barred: Set<RaceLogin> = []
    /// The limits of dead sessions may be stricter than those of the live one: an end of the newest session found a
    /// dead one, or a logout was not finished.
    var limitsMayDiffer = false
    /// Each token with what it was issued to.
    var issued: [Token: String] = [:]
    /// Tokens for which a refresh was granted.
    var used: Set<Token> = []
    /// Generations that revoked their grant.
    var revokedBy: [[UInt8]: Set<Int32>] = [:]
    /// The app's stored token, and the token that it presents now. It stores one token.
    var held: Token?
    var sent: (token: Token, copies: Int)?
    /// No end of a session is among what the actors do.
    private(set) var hasNoEnds = true
    private(set) var history: [String] = []
    private(set) var violation: String?
    private(set) var waits = 0
    var failures = 0

    init(number: Int, seed: UInt64) {
        self.number = number
        // Neighbours must not have the same numbers, a place further on.
        var seeds = SeededRandom(seed: seed &* 0x2545_F491_4F6C_DD1D &+ UInt64(number))
        var random = SeededRandom(seed: seeds.next())
        let isHonest = random.oneIn(3)
        let starts = Start.allCases.filter { !isHonest || $0 != .late }
        self.isHonest = isHonest
        start = starts[random.below(starts.count)]
        sidDigest = Array(SHA256.hash(data: Array("race-\(seed)-\(number)".utf8)))
        subject = "user-\(seed)-\(number)"
        device = random.octets(32)
        base = Int64(time(nil))
        self.random = random
        let count = 3 + self.random.below(3)
        for _ in 0..<count { actors.append(Actor(transactions: randomTransactions())) }
        note("\(start.rawValue)\(isHonest ? ", honest" : "")")
    }

    private mutating func randomTransactions() -> [[RaceCall]] {
        let loses = random.oneIn(3)
        switch random.below(isHonest ? 10 : 18) {
        case 0...3: return [[randomExchange()]]
        case 4...7: return [[.refresh(loses: loses)], [.refresh(loses: false)]]
        case 8...12: return randomEnd()
        case 13...15: return [[.replay], [.replay]]
        case 16: return [[.replay, .replay]]
        default: return [[randomExchange(), .replay, .replay, .replay]]
        }
    }

    private mutating func randomEnd() -> [[RaceCall]] {
        hasNoEnds = false
        switch random.below(5) {
        case 0: return logout(ofUser: false)
        case 1: return logout(ofUser: true)
        case 2: return [[randomExchange(), .end(sameLoginMayReturn: false)]]
        default: return [[.end(sameLoginMayReturn: random.oneIn(3))]]
        }
    }

    private mutating func randomExchange() -> RaceCall {
        let logins: [RaceLogin] = [.early, .early, .early, .reissued, .later]
        return .exchange(logins[random.below(logins.count)], audience: random.below(2))
    }

    private func logout(ofUser: Bool) -> [[RaceCall]] {
        [
            [.beginLogout(ofUser: ofUser)], [.endLoggedOut(ofUser: ofUser, limit: ofUser ? 100 : 1)],
            [.finishLogout(ofUser: ofUser)],
        ]
    }

    mutating func note(_ text: String) { history.append(text) }

    mutating func noteWait(of index: Int) {
        waits += 1
        note("\(index) waits")
    }

    /// The first one counts.
    mutating func violate(_ text: String) {
        note("VIOLATION: \(text)")
        if violation == nil { violation = text }
    }

    func timestamp(_ seconds: Int64) -> PostgresValue { .timestamp((base + seconds) * 1_000_000) }
}

extension SeededRandom {
    mutating func octets(_ count: Int) -> [UInt8] { (0..<count).map { _ in UInt8(truncatingIfNeeded: next()) } }
}
