import BrokerTesting
import PostgresClient

/// What was asked, as far as its answer is judged by it.
enum RaceQuestion: Sendable {
    case exchange(RaceLogin, audience: Int)
    case refresh(RaceRefresh)
    case end(sameLoginMayReturn: Bool)
    case logout(RaceCall)
}

/// A token that is shown, and what was acknowledged before.
struct RaceRefresh: Sendable {
    let token: RaceWorld.Token
    /// The app learns of the next one.
    let learns: Bool
    let endedBefore: Set<[UInt8]>
    /// It was refreshed, and its successor, too.
    let isSpent: Bool
}

/// An answer that its caller gets after the commit.
enum RaceAnswer: Sendable {
    case granted(RaceLogin, audience: Int, session: [UInt8], RaceWorld.Token)
    case rotated(session: [UInt8], RaceWorld.Token)
    case redelivered(RaceWorld.Token)
    case revoked(RaceWorld.Token)
    case ended(session: [UInt8], byThis: Bool, sameLoginMayReturn: Bool)
    case loggedOut

    /// That its receiver has from then on.
    var token: RaceWorld.Token? {
        switch self {
        case .granted(_, _, _, let token), .rotated(_, let token), .redelivered(let token): token
        case .revoked, .ended, .loggedOut: nil
        }
    }

    var text: String {
        switch self {
        case .granted(_, _, let session, let token):
            "\(RaceWorld.name(token)) in session \(RaceWorld.name(session))"
        case .rotated(_, let token): RaceWorld.name(token)
        case .redelivered(let token): "\(RaceWorld.name(token)) again"
        case .revoked(let token): "its grant revoked for \(RaceWorld.name(token))"
        case .ended(let session, let byThis, _):
            byThis ? "the end of session \(RaceWorld.name(session))" : "word that \(RaceWorld.name(session)) was over"
        case .loggedOut: "the end of the logout"
        }
    }
}

/// What an actor does next.
extension RaceWorld {
    enum Step {
        case query(Statement, [PostgresValue])
        case commit
        /// There is no token yet that it could show.
        case notYet
        case nothing
    }

    mutating func step(_ index: Int) -> Step {
        guard let transaction = actors[index].transactions.first else { return .nothing }
        guard let call = transaction.first else {
            check(commitOf: index)
            note("\(index) commits")
            return .commit
        }
        guard let (statement, parameters) = query(index, call) else { return .notYet }
        actors[index].transactions[0].removeFirst()
        note("\(index) \(call)\(token(askedBy: index))")
        return .query(statement, parameters)
    }

    private func token(askedBy index: Int) -> String {
        guard case .refresh(let shown)? = actors[index].asked else { return "" }
        return " \(Self.name(shown.token))"
    }

    static func name(_ token: Token) -> String { "\(name(token.grant)):\(token.generation)" }
    static func name(_ identifier: [UInt8]) -> String {
        String(identifier.prefix(3).reduce(0) { $0 << 8 | Int($1) }, radix: 16)
    }

    private mutating func query(_ index: Int, _ call: RaceCall) -> (Statement, [PostgresValue])? {
        let names: [PostgresValue] = [.text(SampleApps.issuer), .bytes(sidDigest)]
        switch call {
        case .exchange(let login, let audience):
            actors[index].asked = .exchange(login, audience: audience)
            return (
                RaceStatements.exchange,
                [.uuid(random.octets(16))] + names + [
                    .text(subject), .text(SampleApps.source), timestamp(login.authenticatedAt),
                    timestamp(login.issuedAt), .text(SampleApps.targets[0]), .bytes(device), .textArray(Self.scope),
                    .textArray([SampleApps.audience, String(audience)]), .int64(Self.idleSeconds),
                    .uuid(random.octets(16)), .uuid(random.octets(16)),
                ]
            )
        case .refresh(let loses):
            // Two copies of one request are under way at once, until both have ended.
            guard let token = sent?.token ?? held else { return nil }
            sent = (token, (sent?.copies ?? 0) + 1)
            actors[index].isShowing = true
            return refresh(index, token, learns: !loses)
        case .replay:
            guard let token = randomToken(index) else { return nil }
            return refresh(index, token, learns: false)
        case .end(let sameLoginMayReturn):
            actors[index].isEnding = true
            actors[index].asked = .end(sameLoginMayReturn: sameLoginMayReturn)
            return (RaceStatements.end, names + [.bool(sameLoginMayReturn)])
        case .beginLogout(let ofUser):
            actors[index].isEnding = true
            actors[index].asked = .logout(call)
            return (
                RaceStatements.beginLogout,
                [.bytes(digest(index)), .text(SampleApps.issuer)] + subjects(ofUser)
                    + [timestamp(Self.logoutInstant), .uuid(mark(index))]
            )
        case .endLoggedOut(let ofUser, let limit):
            actors[index].asked = .logout(call)
            return (
                RaceStatements.endLoggedOut,
                [.uuid(random.octets(16)), .text(SampleApps.issuer)] + subjects(ofUser)
                    + [timestamp(3600), .null, .int64(limit), timestamp(Self.logoutInstant)]
            )
        case .finishLogout(let ofUser):
            actors[index].asked = .logout(call)
            return (
                RaceStatements.finishLogout,
                [
                    .uuid(random.octets(16)), .bytes(digest(index)), timestamp(600), .text(SampleApps.issuer),
                    .bool(ofUser), .uuid(mark(index)),
                ]
            )
        }
    }

    /// Of the grant that its transaction got, else of any.
    private mutating func randomToken(_ index: Int) -> Token? {
        let own = actors[index].pending.compactMap(\.token)
        let known = own.isEmpty ? Array(issued.keys) : own
        guard let grant = random.pick(Set(known.map(\.grant)).sorted { $0.lexicographicallyPrecedes($1) }) else {
            return nil
        }
        let last = known.lazy.filter { $0.grant == grant }.map(\.generation).max() ?? 1
        return Token(grant: grant, generation: Int32(1 + random.below(Int(last))))
    }

    private mutating func refresh(_ index: Int, _ token: Token, learns: Bool) -> (Statement, [PostgresValue]) {
        let next = Token(grant: token.grant, generation: token.generation + 1)
        let isSpent = used.contains(token) && used.contains(next)
        actors[index].asked = .refresh(
            RaceRefresh(token: token, learns: learns, endedBefore: ended, isSpent: isSpent))
        return (
            RaceStatements.refresh,
            [
                .uuid(random.octets(16)), .uuid(token.grant), .int32(token.generation), .text(SampleApps.targets[0]),
                .textArray(Self.scope), .int64(Self.idleSeconds),
            ]
        )
    }

    /// After the later login, and no more than a minute in the future.
    private static let logoutInstant: Int64 = 50
    static let idleSeconds: Int64 = 100_000
    static let scope = SampleApps.scope.split(separator: " ").map(String.init)

    private func subjects(_ ofUser: Bool) -> [PostgresValue] {
        ofUser ? [.null, .text(subject)] : [.bytes(sidDigest), .null]
    }
    private func digest(_ index: Int) -> [UInt8] { [UInt8(index)] + device.dropFirst() }
    private func mark(_ index: Int) -> [UInt8] { Array(digest(index).prefix(16)) }
}
