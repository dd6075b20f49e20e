import PostgresClient

/// What the actors are answered.
extension RaceWorld {
    mutating func take(_ rows: [Row], for index: Int) throws {
        guard let asked = actors[index].asked else { return }
        actors[index].asked = nil
        switch asked {
        case .exchange(let login, let audience):
            guard let row = rows.first, let grant = try row.optionalUUID(1) else {
                if isHonest, hasNoEnds, start == .unseen || start == .live || start == .granted {
                    violate("an honest exchange is refused")
                }
                return note("\(index) is refused")
            }
            let token = Token(grant: grant, generation: try row.int32(2))
            add(.granted(login, audience: audience, session: try row.uuid(0), token), index)
        case .refresh(let shown):
            if let row = rows.first { try take(row, of: shown, for: index) }
        case .end(let sameLoginMayReturn):
            guard let row = rows.first else { return note("\(index) finds no session") }
            let byThis = try row.bool(1)
            if !byThis { limitsMayDiffer = true }
            add(.ended(session: try row.uuid(0), byThis: byThis, sameLoginMayReturn: sameLoginMayReturn), index)
        case .logout(let call):
            try take(rows, ofLogout: call, for: index)
        }
    }

    private mutating func take(_ row: Row, of shown: RaceRefresh, for index: Int) throws {
        let (token, session) = (shown.token, try row.uuid(0))
        let next = Token(grant: token.grant, generation: token.generation + 1)
        let isOver = try row.bool(3)
        let effect = try row.text(1)
        if shown.endedBefore.contains(session), !isOver, start != .over {
            violate("a refresh after the end of its session does not see it")
        }
        if shown.isSpent, effect != "revoked", try !row.bool(4) { violate("a spent token is taken for harmless") }
        switch effect {
        case "advanced": add(.rotated(session: session, next), index)
        case "revoked": add(.revoked(token), index)
        default:
            let isLast = try token.generation == row.int32(2) - 1 && token.generation >= row.int32(5)
            guard isLast, !isOver, try !row.bool(4) else { return note("\(index) is refused") }
            add(.redelivered(next), index)
        }
        if shown.learns, effect != "revoked" { actors[index].learns = next }
    }

    private mutating func take(_ rows: [Row], ofLogout call: RaceCall, for index: Int) throws {
        switch call {
        case .endLoggedOut(let ofUser, let limit):
            // As the broker does it: again until there is no more, and of a user at last one by one.
            if try rows.first?.optionalUUID(0) != nil {
                actors[index].transactions.insert([call], at: 1)
            } else if limit > 1 {
                actors[index].transactions.insert([.endLoggedOut(ofUser: ofUser, limit: 1)], at: 1)
            }
        case .finishLogout: add(.loggedOut, index)
        default: break
        }
    }

    private mutating func add(_ answer: RaceAnswer, _ index: Int) {
        actors[index].pending.append(answer)
        note("\(index) gets \(answer.text)")
    }

    /// What it is about to commit must not have been ruled out by an answer that another already has.
    mutating func check(commitOf index: Int) {
        for answer in actors[index].pending {
            switch answer {
            case .granted(let login, _, let session, _):
                if ended.contains(session) { violate("an exchange is granted after the end of its session") }
                if barred.contains(login) { violate("an exchange is granted to a login that was ended") }
            case .rotated(let session, _):
                if ended.contains(session) { violate("a refresh is granted after the end of its session") }
            case .redelivered, .revoked, .ended, .loggedOut: break
            }
        }
    }

    /// The actor has its answers.
    mutating func acknowledge(_ index: Int) {
        for answer in actors[index].pending {
            switch answer {
            case .granted(let login, let audience, _, let token):
                issue(token, to: Self.receiver(login, audience: audience))
                held = token
            case .rotated(_, let token):
                issue(token, to: "a refresh")
                used.insert(Token(grant: token.grant, generation: token.generation - 1))
            case .redelivered: break
            case .revoked(let token): revokedBy[token.grant, default: []].insert(token.generation)
            case .ended(let session, let byThis, let sameLoginMayReturn):
                ended.insert(session)
                if byThis { barred.formUnion(sameLoginMayReturn ? [.early] : [.early, .reissued]) }
            case .loggedOut: barred.formUnion(RaceLogin.allCases)
            }
        }
        if let learned = actors[index].learns { held = learned }
        leave(index)
    }

    /// What makes two exchanges the same: not when the id_token was issued.
    static func receiver(_ login: RaceLogin, audience: Int) -> String {
        "an exchange at \(login.authenticatedAt) for \(audience)"
    }

    /// The same exchange may get the same token again.
    private mutating func issue(_ token: Token, to receiver: String) {
        if let first = issued[token], first != receiver || receiver == "a refresh" {
            violate("\(Self.name(token)) was issued to \(first) and to \(receiver)")
        }
        issued[token] = receiver
    }

    /// Nothing of the transaction happened.
    mutating func fail(_ index: Int, _ error: PostgresError) {
        failures += 1
        note("\(index) fails: \(error)")
        switch error {
        case .server(let state, _, _) where state.isRetryable || state.isLockTimeout: break
        default: violate("\(error)")
        }
        if actors[index].isEnding { limitsMayDiffer = true }
        leave(index)
        // It gives up.
        actors[index].transactions = []
    }

    private mutating func leave(_ index: Int) {
        if actors[index].isShowing, let (token, copies) = sent {
            sent = copies > 1 ? (token, copies - 1) : nil
        }
        actors[index].isShowing = false
        actors[index].learns = nil
        actors[index].pending = []
        actors[index].asked = nil
        actors[index].hasBegun = false
        actors[index].transactions.removeFirst()
    }
}
