import BrokerTesting
import PostgresClient

/// The rows of a world, before and after.
extension RaceWorld {
    /// Inserts what there is at the beginning.
    mutating func prepare(on database: ConnectionPool) async throws {
        guard start != .unseen else { return }
        let session = random.octets(16)
        let (endedAt, limits): (PostgresValue, [PostgresValue])
        if start == .ended {
            let sameLoginMayReturn = random.oneIn(2)
            limits = sameLoginMayReturn ? [timestamp(-100), .null] : [.null, timestamp(-100)]
            endedAt = timestamp(-100)
            barred = sameLoginMayReturn ? [.early] : [.early, .reissued]
        } else {
            (endedAt, limits) = (.null, [.null, .null])
        }
        let isIdle = start == .over && random.oneIn(2)
        if start == .ended || start == .over { ended.insert(session) }
        _ = try await database.query(
            RaceStatements.insertSession,
            [
                .uuid(session), .text(SampleApps.issuer), .bytes(sidDigest), .text(subject), .bytes(device),
                .text(SampleApps.source), timestamp(-1000), timestamp(-200_000),
                timestamp(start == .over && !isIdle ? -500 : 1_000_000),
                timestamp(isIdle ? -500 - Self.idleSeconds : random.oneIn(2) ? -900 : 0), endedAt,
            ] + limits)
        guard start != .live, start != .ended || random.oneIn(2) else { return }
        let token = Token(grant: random.octets(16), generation: Int32(1 + random.below(4)))
        let isLate = start == .late
        _ = try await database.query(
            RaceStatements.insertGrant,
            [
                .uuid(token.grant), .uuid(session), .text(SampleApps.targets[0]), .text(SampleApps.source),
                .bytes(device), .int32(token.generation), timestamp(random.oneIn(2) ? -3600 : 0),
                .textArray(Self.scope), .textArray([SampleApps.audience, "0"]), timestamp(-1000), timestamp(1_000_000),
                isLate ? timestamp(-100) : .null,
            ])
        for generation in 1...token.generation {
            // The first is of an exchange, and the same exchange may get it again.
            issued[Token(grant: token.grant, generation: generation)] =
                generation == 1 ? Self.receiver(.early, audience: 0) : "a refresh"
            if generation < token.generation { used.insert(Token(grant: token.grant, generation: generation)) }
        }
        if !isLate { held = token }
        note("grant \(Self.name(token)) of session \(Self.name(session))")
    }

    /// Checks the rows after all actors have ended, then deletes them. Small tables keep the query plans good.
    mutating func checkRows(on database: ConnectionPool) async throws {
        let names: [PostgresValue] = [.text(SampleApps.issuer), .bytes(sidDigest)]
        var live = 0
        for row in try await database.query(RaceStatements.sessions, names) {
            let (session, isOver) = (try row.uuid(0), try row.bool(1))
            if !isOver { live += 1 }
            // A session past its time ends only when a call reads it.
            if !isOver, ended.contains(session), start != .over {
                violate("session \(Self.name(session)) is live after the answer that it ended")
            }
            if try row.bool(2), !limitsMayDiffer { violate("a session has looser limits than one before it") }
        }
        if live > 1 { violate("\(live) live sessions have one name") }
        for row in try await database.query(RaceStatements.grants, names) { try check(grant: row) }
        _ = try await database.query(RaceStatements.clear, names)
    }

    private mutating func check(grant row: Row) throws {
        let (grant, generation, reason) = (try row.uuid(0), try row.int32(1), try row.optionalText(2))
        let name = Self.name(grant)
        let tokens = issued.keys.filter { $0.grant == grant }
        if tokens.count != Int(generation) || tokens.map(\.generation).max() != generation {
            violate("grant \(name) is at \(generation), and \(tokens.count) generations were issued")
        }
        if try row.bool(3) { violate("grant \(name) is not the only live one") }
        if try row.bool(4) { violate("grant \(name) is live after a proven theft") }
        if isHonest, let reason { violate("an honest app lost grant \(name): \(reason)") }
        if reason == "refresh_token_late", start != .late, revokedBy[grant]?.contains(generation - 1) != true {
            violate("a late token revoked grant \(name), which had gone on")
        }
        if reason == "state_regressed" { violate("grant \(name) was refreshed with a token of the future") }
    }
}
