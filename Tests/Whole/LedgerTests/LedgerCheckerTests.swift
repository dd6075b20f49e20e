import Testing

/// An exchange, a refresh whose answer was lost and its retry, a refresh, a race at two brokers.
private let honest: [LedgerEntry] = [
    entry(.exchange, .granted(token("a", 1)), at: 0),
    entry(.refresh(token("a", 1)), .granted(token("a", 2)), lost: true, at: 10),
    entry(.refresh(token("a", 1)), .granted(token("a", 2)), at: 20),
    entry(.refresh(token("a", 2)), .unknown, at: 30),
    entry(.refresh(token("a", 2)), .unavailable, at: 40),
    entry(.refresh(token("a", 2)), .granted(token("a", 3)), at: 50),
    entry(.refresh(token("a", 3)), .granted(token("a", 4)), at: 60),
    entry(.refresh(token("a", 3)), .granted(token("a", 4)), at: 61),
]

private func violations(_ entries: [LedgerEntry], _ final: FinalState) -> Set<Violation> {
    LedgerChecker().violations(in: entries, final)
}

private func token(_ grant: String, _ generation: Int, _ variant: String = "") -> RefreshToken {
    RefreshToken(text: "\(grant).\(generation)\(variant)", grant: grant, generation: generation)
}

/// Takes two seconds.
private func entry(
    _ act: LedgerEntry.Act, _ outcome: LedgerEntry.Outcome, lost isLost: Bool = false, at seconds: Int
) -> LedgerEntry {
    LedgerEntry(
        session: "s", app: act.isEnd ? "" : "app", act: act, outcome: outcome, isLost: isLost,
        sentAt: .seconds(seconds), answeredAt: .seconds(seconds + 2))
}

private func state(
    _ grants: [(id: String, generation: Int, isRevoked: Bool)], ended: Bool = false
) -> FinalState {
    FinalState(
        grants: grants.map {
            FinalState.Grant(
                session: "s", app: "app", id: $0.id, generation: $0.generation, isRevoked: $0.isRevoked)
        }, endedSessions: ended ? ["s"] : [])
}

private let live = state([("a", 4, false)])

/// The checker sees each broken promise, and none where none was broken.
struct LedgerCheckerTests {
    // MARK: What is right

    @Test func anHonestRunBreaksNothing() {
        #expect(violations(honest, live).isEmpty)
        // One more rotation without an answer does no harm.
        #expect(violations(honest, state([("a", 5, false)])).isEmpty)
    }

    @Test func refusalsWithACauseBreakNothing() {
        let ended =
            honest + [
                entry(.refresh(token("a", 4)), .refused, at: 71),  // while it is being ended
                entry(.end, .ended, at: 70), entry(.refresh(token("a", 4)), .refused, at: 80),
                entry(.exchange, .refused, at: 90),
            ]
        #expect(violations(ended, state([("a", 4, false)], ended: true)).isEmpty)
        let replayed =
            honest + [
                entry(.replay(token("a", 1)), .refused, at: 70),
                entry(.refresh(token("a", 4)), .refused, at: 80),
                entry(.exchange, .granted(token("b", 1)), at: 90),
                entry(.refresh(token("a", 4)), .refused, at: 100),
            ]
        #expect(violations(replayed, state([("a", 4, true), ("b", 1, false)])).isEmpty)
        let late =
            honest + [
                entry(.refresh(token("a", 4)), .unknown, at: 70),
                entry(.refresh(token("a", 4)), .refused, at: 130),
            ]
        #expect(violations(late, state([("a", 5, true)])).count == 1)
    }

    // MARK: Lost rotations

    @Test func aRotationThatTheDatabaseDoesNotKnowIsSeen() {
        #expect(violations(honest, state([("a", 3, false)])) == [.rotationLost(grant: "a", acknowledged: 4, found: 3)])
        #expect(violations(honest, state([])) == [.rotationLost(grant: "a", acknowledged: 4, found: nil)])
    }

    /// Even where the database has caught up in the end, and where the app never saw the answer.
    @Test(arguments: [false, true]) func aRotationThatWasForgottenForAWhileIsSeen(isLost: Bool) {
        let entries = [
            entry(.exchange, .granted(token("a", 1)), at: 0),
            entry(.exchange, .granted(token("a", 2)), at: 5),
            entry(.exchange, .granted(token("a", 3)), lost: isLost, at: 10),
            entry(.exchange, .granted(token("a", 2)), at: 20),
        ]
        let found = violations(entries, live)
        #expect(found == [.rotationLost(grant: "a", acknowledged: 3, found: 2)])
    }

    // MARK: Lost revocations

    @Test func aSessionThatCameBackIsSeen() {
        let entries = honest + [entry(.end, .ended, at: 70)]
        #expect(violations(entries, live) == [.revocationLost(session: "s", "the session is live")])
        let used = entries + [entry(.refresh(token("a", 4)), .granted(token("a", 5)), at: 80)]
        let found = violations(used, state([("a", 5, false)], ended: true))
        #expect(found == [.revocationLost(session: "s", "a success sent at 80.0 seconds, after its end")])
        // While the command runs it may still be granted.
        let meanwhile = entries + [entry(.refresh(token("a", 4)), .granted(token("a", 5)), at: 71)]
        #expect(violations(meanwhile, state([("a", 5, false)], ended: true)).isEmpty)
    }

    @Test func aReplayedFamilyThatCameBackIsSeen() {
        let entries = honest + [entry(.replay(token("a", 1)), .refused, at: 70)]
        #expect(violations(entries, live) == [.revocationLost(session: "s", "the replayed family a is live")])
        let used = entries + [entry(.refresh(token("a", 4)), .granted(token("a", 5)), at: 80)]
        #expect(
            violations(used, state([("a", 5, true)])) == [
                .revocationLost(session: "s", "a success sent at 80.0 seconds, after a replay")
            ])
    }

    // MARK: Two live families

    @Test func twoSuccessorsOfOneTokenAreSeen() {
        let entries = honest + [entry(.refresh(token("a", 3)), .granted(token("a", 4, "'")), at: 61)]
        #expect(violations(entries, live) == [.secondFamily(session: "s", app: "app", "2 successors of one token")])
    }

    @Test func aSpentTokenThatIsGoodIsSeen() {
        let entries = honest + [entry(.refresh(token("a", 1)), .granted(token("a", 2)), at: 70)]
        let found = violations(entries, live)
        #expect(found.contains(.secondFamily(session: "s", app: "app", "a spent token of generation 1 was good")))
        let onPurpose =
            honest + [entry(.replay(token("a", 3)), .granted(token("a", 4)), at: 70)]
        #expect(
            violations(onPurpose, live) == [
                .secondFamily(session: "s", app: "app", "a spent token of generation 3 was good")
            ])
    }

    @Test func twoFamiliesBesideEachOtherAreSeen() {
        let rows = state([("a", 4, false), ("b", 1, false)])
        #expect(violations(honest, rows) == [.secondFamily(session: "s", app: "app", "2 live rows")])
        let entries =
            honest + [
                entry(.exchange, .granted(token("b", 1)), at: 70),
                entry(.refresh(token("a", 4)), .granted(token("a", 5)), at: 80),
            ]
        #expect(
            violations(entries, state([("a", 5, true), ("b", 1, false)])) == [
                .secondFamily(session: "s", app: "app", "family a went on after another one had taken its place")
            ])
    }

    // MARK: Refused though honest

    @Test func anHonestAppThatIsRefusedIsSeen() {
        let refresh = honest + [entry(.refresh(token("a", 4)), .refused, at: 70)]
        #expect(
            violations(refresh, live) == [
                .honestAppRefused(
                    session: "s", app: "app", sentAt: .seconds(70), "a refresh with generation 4",
                    request: "")
            ])
        let retry =
            honest + [
                entry(.refresh(token("a", 4)), .unknown, at: 70),
                entry(.refresh(token("a", 4)), .refused, at: 120),
            ]
        #expect(violations(retry, live).count == 1)
        let exchange = honest + [entry(.exchange, .refused, at: 70)]
        #expect(violations(exchange, live).count == 1)
        // What comes later is no excuse.
        let excuses =
            refresh + [entry(.end, .ended, at: 80), entry(.replay(token("a", 1)), .refused, at: 90)]
        #expect(violations(excuses, state([("a", 4, true)], ended: true)).count == 1)
    }

    @Test func anAnswerOutsideTheContractIsSeen() {
        let entries = honest + [entry(.refresh(token("a", 4)), .unexpected("500 server_error"), at: 70)]
        #expect(
            violations(entries, live) == [.unexpectedAnswer(session: "s", sentAt: .seconds(70), "500 server_error")])
    }

    @Test func aLivingBrokerThatDoesNotAnswerIsSeen() {
        func entry(isAbandoned: Bool = false) -> LedgerEntry {
            LedgerEntry(
                session: "s", app: "app", act: .exchange, outcome: .unknown, broker: 1, isAbandoned: isAbandoned,
                sentAt: .seconds(10), answeredAt: .seconds(12))
        }
        func violations(_ entry: LedgerEntry, _ downtimes: Downtime...) -> Set<Violation> {
            LedgerChecker(downtimes: downtimes).violations(in: [entry], FinalState())
        }
        let seen: Set<Violation> = [.noAnswer(session: "s", sentAt: .seconds(10))]
        #expect(violations(entry()) == seen)
        #expect(violations(entry(), Downtime(broker: 0, from: .seconds(11), until: .seconds(13))) == seen)
        #expect(violations(entry(), Downtime(broker: 1, from: .seconds(8), until: .seconds(9))) == seen)
        #expect(violations(entry(), Downtime(broker: 1, from: .seconds(11), until: .seconds(13))).isEmpty)
        #expect(violations(entry(isAbandoned: true)).isEmpty)
    }

    // MARK: Tokens

    @Test func aTokenIsReadAsTheBrokerWritesIt() throws {
        // Key id 7, grant 00010203-0405-0607-0809-0a0b0c0d0e0f, generation 258, a tag of zeros.
        let text = "nsr1.BwABAgMEBQYHCAkKCwwNDg8AAAEC" + String(repeating: "A", count: 43)
        let token = try #require(RefreshToken(text))
        #expect(token.grant == "00010203-0405-0607-0809-0a0b0c0d0e0f" && token.generation == 258)
        for wrong in ["", "nsr1.", "nsr2." + text.dropFirst(5), text + "A"] { #expect(RefreshToken(wrong) == nil) }
    }
}
