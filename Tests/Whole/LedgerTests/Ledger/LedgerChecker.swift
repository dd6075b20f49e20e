/// Checks the recorded answers and the final database state against the broker's promises: no acknowledged rotation or
/// revocation is lost, an app has one live token family per session, no honest app is refused.
///
/// Pure. A lost answer counts as given, because the broker sent it.
struct LedgerChecker: Sendable {
    /// When a broker could not answer.
    var downtimes: [Downtime] = []

    func violations(in entries: [LedgerEntry], _ final: FinalState) -> Set<Violation> {
        let grants = Dictionary(grouping: final.grants, by: \.session)
        var found: Set<Violation> = []
        for (session, entries) in Dictionary(grouping: entries, by: \.session) {
            let grants = grants[session] ?? []
            found.formUnion(lostRotations(entries, grants))
            found.formUnion(lostRevocations(session, entries, grants, isEnded: final.endedSessions.contains(session)))
            found.formUnion(secondFamilies(session, entries, grants))
            found.formUnion(refusals(session, entries))
            found.formUnion(answersOutsideTheContract(session, entries))
        }
        return found
    }

    // MARK: Nothing acknowledged is lost

    /// No later answer and no final row is behind a generation that the broker acknowledged.
    private func lostRotations(_ entries: [LedgerEntry], _ grants: [FinalState.Grant]) -> [Violation] {
        let generations = Dictionary(grants.map { ($0.id, $0.generation) }) { first, _ in first }
        let answers = entries.filter { $0.granted != nil }
        return Dictionary(grouping: answers) { $0.granted?.grant ?? "" }.flatMap { id, answers in
            func lost(_ acknowledged: Int, _ found: Int?) -> Violation {
                .rotationLost(grant: id, acknowledged: acknowledged, found: found)
            }
            let generation = { (entry: LedgerEntry) in entry.granted?.generation ?? 0 }
            let last = answers.map(generation).max() ?? 0
            let inTheEnd = generations[id].map { $0 < last ? [lost(last, $0)] : [] } ?? [lost(last, nil)]
            return inTheEnd
                + withFloors(answers, generation).filter { generation($0.entry) < $0.floor }
                .map { lost($0.floor, generation($0.entry)) }
        }
    }

    /// Pairs each entry with the highest value known before it was sent.
    private func withFloors(
        _ entries: [LedgerEntry], _ value: (LedgerEntry) -> Int
    ) -> [(entry: LedgerEntry, floor: Int)] {
        var known = entries.sorted { $0.answeredAt < $1.answeredAt }[...]
        var floor = 0
        return entries.sorted { $0.sentAt < $1.sentAt }.map { entry in
            while let next = known.first, next.precedes(entry) {
                floor = max(floor, value(next))
                known.removeFirst()
            }
            return (entry, floor)
        }
    }

    /// After the acknowledged end of a session no request in it succeeds, and after a refused replay no request of that
    /// family. The database agrees.
    private func lostRevocations(
        _ session: String, _ entries: [LedgerEntry], _ grants: [FinalState.Grant], isEnded: Bool
    ) -> [Violation] {
        var found: [Violation] = []
        let successes = entries.filter { $0.granted != nil }
        let ends = entries.filter { $0.outcome == .ended }
        if !ends.isEmpty, !isEnded { found.append(.revocationLost(session: session, "the session is live")) }
        for success in successes where ends.contains(where: { $0.precedes(success) }) {
            found.append(.revocationLost(session: session, "a success sent at \(success.sentAt), after its end"))
        }
        for replay in entries where replay.isReplay && replay.outcome == .refused {
            let grant = replay.presented?.grant
            if !grants.contains(where: { $0.id == grant && $0.isRevoked }) {
                found.append(.revocationLost(session: session, "the replayed family \(grant ?? "") is live"))
            }
            for success in successes where replay.precedes(success) && success.granted?.grant == grant {
                found.append(.revocationLost(session: session, "a success sent at \(success.sentAt), after a replay"))
            }
        }
        return found
    }

    // MARK: One live token family

    private func secondFamilies(
        _ session: String, _ entries: [LedgerEntry], _ grants: [FinalState.Grant]
    ) -> [Violation] {
        var found: [Violation] = []
        for (app, live) in Dictionary(grouping: grants.filter { !$0.isRevoked }, by: \.app) where live.count > 1 {
            found.append(.secondFamily(session: session, app: app, "\(live.count) live rows"))
        }
        for (app, entries) in Dictionary(grouping: entries.filter { $0.granted != nil }, by: \.app) {
            let what = forks(entries) + spentTokens(entries) + returns(entries)
            found += what.map { .secondFamily(session: session, app: app, $0) }
        }
        return found
    }

    /// One token has one successor.
    private func forks(_ successes: [LedgerEntry]) -> [String] {
        let refreshes = successes.filter { $0.presented != nil }
        return Dictionary(grouping: refreshes) { $0.presented }.values.compactMap { answers in
            let successors = Set(answers.compactMap(\.granted))
            return successors.count > 1 ? "\(successors.count) successors of one token" : nil
        }
    }

    /// Use of the successor ends redelivery of its predecessor.
    private func spentTokens(_ successes: [LedgerEntry]) -> [String] {
        let refreshes = successes.filter { $0.presented != nil }
        return Dictionary(grouping: refreshes) { $0.presented?.grant }.values.flatMap { refreshes in
            let generation = { (entry: LedgerEntry) in entry.presented?.generation ?? 0 }
            return withFloors(refreshes, generation).filter { generation($0.entry) < $0.floor || $0.entry.isReplay }
                .map { "a spent token of generation \(generation($0.entry)) was good" }
        }
    }

    /// A replaced token family does not come back.
    private func returns(_ successes: [LedgerEntry]) -> [String] {
        guard Set(successes.map { $0.granted?.grant }).count > 1 else { return [] }
        return successes.compactMap { entry in
            guard let grant = entry.granted?.grant else { return nil }
            let wasReplaced = successes.contains { new in
                guard new.granted?.grant != grant, new.precedes(entry) else { return false }
                return successes.contains { $0.granted?.grant == grant && $0.precedes(new) }
            }
            return wasReplaced ? "family \(grant) went on after another one had taken its place" : nil
        }
    }

    // MARK: No honest app is refused

    private func refusals(_ session: String, _ entries: [LedgerEntry]) -> [Violation] {
        entries.filter { $0.outcome == .refused && !$0.isReplay }.compactMap { refusal in
            // Any request sent before the refusal arrived may be its cause.
            let before = entries.filter { $0.sentAt < refusal.answeredAt }
            if before.contains(where: \.isEnd) { return nil }
            guard let token = refusal.presented else {
                return violation(refusal, "an exchange")
            }
            if before.contains(where: { $0.isReplay && $0.presented?.grant == token.grant }) { return nil }
            return violation(refusal, "a refresh with generation \(token.generation)")
        }
    }

    private func violation(_ refusal: LedgerEntry, _ what: String) -> Violation {
        .honestAppRefused(
            session: refusal.session, app: refusal.app, sentAt: refusal.sentAt, what,
            request: refusal.request)
    }

    // MARK: Every request is answered

    private func answersOutsideTheContract(_ session: String, _ entries: [LedgerEntry]) -> [Violation] {
        entries.compactMap { entry in
            switch entry.outcome {
            case .unexpected(let what): .unexpectedAnswer(session: session, sentAt: entry.sentAt, what)
            case .unknown where !entry.isAbandoned && entry.broker != nil && !wasDown(entry):
                .noAnswer(session: session, sentAt: entry.sentAt)
            default: nil
            }
        }
    }

    private func wasDown(_ entry: LedgerEntry) -> Bool {
        downtimes.contains { $0.broker == entry.broker && $0.from <= entry.answeredAt && entry.sentAt <= $0.until }
    }
}
