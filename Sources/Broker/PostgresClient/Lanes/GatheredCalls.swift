/// Calls of one statement that are made by another one, in the order of their rows.
struct GatheredCalls {
    let gathering: Gathering
    let calls: [LaneCall]
    let part: BatchPart

    /// Gives each call its row of a committed answer. Those that have none were not made.
    ///
    /// - Parameter count: Told how many were made, before anybody hears of it.
    func answer(_ rows: [Row], count: (Int) -> Void) -> [LaneCall] {
        var answers: [Row?] = Array(repeating: nil, count: calls.count)
        do throws(PostgresError) {
            for row in rows {
                guard let place = Int(exactly: try row.int64(row.column("place"))), place >= 1, place <= calls.count,
                    answers[place - 1] == nil
                else { throw .unexpectedResult(column: 1) }
                answers[place - 1] = row
            }
        } catch {
            // Somebody's call was made, and it is not known whose.
            for call in calls { call.fail(error) }
            return []
        }
        count(rows.count)
        for (call, row) in zip(calls, answers) { if let row { call.answer(.success([row])) } }
        return zip(calls, answers).filter { $0.1 == nil }.map(\.0)
    }
}

extension BatchRunner {
    /// Which calls of a batch are made by one statement, for each statement of which there are enough. Not two for one row:
    /// the statement sees rows as they were before it.
    ///
    /// - Parameter batch: In the order of its rows, as are the results.
    func gather(_ batch: [LaneCall]) -> (gathered: [GatheredCalls], others: [LaneCall]) {
        var groups: [(gathering: Gathering, calls: [LaneCall])] = []
        for call in batch {
            guard let gathering = call.statement.gathering, gathering.takes(call.parameters) else { continue }
            if let index = groups.firstIndex(where: { $0.gathering === gathering }) {
                if groups[index].calls.last?.row != call.row { groups[index].calls.append(call) }
            } else {
                groups.append((gathering, [call]))
            }
        }
        // In every batch of every process in the same order, since they lock rows.
        groups.sort { $0.gathering.statement.name < $1.gathering.statement.name }
        let gathered = groups.compactMap { connection.gather($0.gathering, $0.calls, from: core.lanes.gathersFrom) }
        guard !gathered.isEmpty else { return ([], batch) }
        let taken = Set(gathered.flatMap { $0.calls.map(ObjectIdentifier.init) })
        return (gathered, batch.filter { !taken.contains(ObjectIdentifier($0)) })
    }
}

extension Connection {
    private static let typeOfElement = Statement("SELECT to_regtype($1)::oid::bigint")

    /// Learns how many calls are made by one, which the server need not allow: then each is made by itself.
    func prepare(_ gathering: Gathering, deadline: MonotonicTime) {
        guard gatherings[gathering.statement] == nil else { return }
        do throws(PostgresError) {
            let rows = try execute(Self.typeOfElement, [.text(gathering.element.description)], deadline: deadline)
            try prepare(gathering.statement, deadline: deadline)
            gatherings[gathering.statement] = .some(rows.isEmpty ? nil : UInt32(exactly: try rows[0].int64(0)))
        } catch  where error.isOfStatement {
            refuse(gathering)
        } catch {
            // The next batch asks again.
        }
    }

    func refuse(_ gathering: Gathering) { gatherings[gathering.statement] = .some(nil) }

    fileprivate func gather(_ gathering: Gathering, _ calls: [LaneCall], from least: Int) -> GatheredCalls? {
        guard calls.count >= max(least, 1), case .some(let element?) = gatherings[gathering.statement],
            let deadline = calls.lazy.map(\.deadline).min(),
            let parameters = EncodedParameters(gathering: calls.map(\.parameters), gathering.fields, element: element)
        else { return nil }
        return GatheredCalls(
            gathering: gathering, calls: calls,
            part: BatchPart(statement: gathering.statement, parameters: parameters, deadline: deadline))
    }
}
