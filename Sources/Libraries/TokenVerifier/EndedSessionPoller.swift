import StrictCoding

/// Polls the broker for ended sessions (RFC 8936), verifies each security event token with the keys of a
/// ``TokenVerifier``, and notes the session in its ``EndedSessions``.
///
/// Run one in each process. Each takes a name of its own, so that each gets every end. A new one gets the ends of the
/// last minutes first, so a restart forgets nothing that matters.
public struct EndedSessionPoller: Sendable {
    private let verifier: TokenVerifier
    private let sessions: EndedSessions
    private let receiver: String
    private let timeout: Duration
    private let transport: @Sendable ([UInt8]) async throws -> [UInt8]
    private let sleep: @Sendable (Duration) async throws -> Void
    private let elapsed: @Sendable () -> Duration
    private let onFailure: @Sendable (any Error) -> Void

    /// Why a poll failed although the transport did not.
    public enum Failure: Error, Sendable, Hashable {
        /// The answer is not that of RFC 8936 §2.3.
        case malformedAnswer
        /// The transport took longer than the time limit.
        case timedOut
        /// A security event token was refused. The broker is told so; `session_id` of that event is not known.
        case refused(VerificationError)
    }

    /// - Parameters:
    ///   - verifier: Has the ``EndedSessions`` to be filled.
    ///   - timeout: The time limit of one poll. The broker answers after 8 s at the latest.
    ///   - clock: Measures pauses and the time limit.
    ///   - onFailure: Receives the error of each failed poll and of each refused event. The poller tries again, after 1 s
    ///     up to 30 s.
    ///   - transport: Sends the octets as `POST /events` with `Content-Type: application/json` and the credentials of this
    ///     resource server, and returns the body of a 200 answer. Throws otherwise. Must support cancellation.
    /// - Returns: nil if the verifier has no ``EndedSessions``.
    public init?<C: Clock>(
        for verifier: TokenVerifier, timeout: Duration = .seconds(20), clock: C = ContinuousClock(),
        onFailure: @escaping @Sendable (any Error) -> Void = { _ in },
        transport: @escaping @Sendable (_ body: [UInt8]) async throws -> [UInt8]
    ) where C.Duration == Duration {
        guard let sessions = verifier.endedSessions else { return nil }
        self.verifier = verifier
        self.sessions = sessions
        self.timeout = timeout
        self.transport = transport
        self.onFailure = onFailure
        receiver = Base64URL.encode((0..<16).map { _ in UInt8.random(in: 0...255) })
        let start = clock.now
        elapsed = { start.duration(to: clock.now) }
        sleep = { try await clock.sleep(for: $0) }
    }

    /// Polls until the task is cancelled.
    public func run() async {
        var processed = Processed()
        while !Task.isCancelled {
            let began = elapsed()
            do {
                let answer = try await answerInTime(to: body(processed))
                processed = try await process(answer)
                sessions.answered()
                // A broker that answers at once with nothing would make this a busy loop.
                if processed.isEmpty, elapsed() - began < .seconds(1) { try? await sleep(.seconds(1)) }
            } catch is CancellationError where Task.isCancelled {
                return
            } catch {
                let failures = sessions.failed()
                onFailure(error)
                try? await sleep(.seconds(min(1 << min(failures - 1, 5), 30)))
            }
        }
    }

    /// What the next poll says of the last answer.
    private struct Processed {
        var acknowledged: [String] = []
        var refused: [String] = []
        var isEmpty: Bool { acknowledged.isEmpty && refused.isEmpty }
    }

    private func body(_ processed: Processed) -> [UInt8] {
        var json = JSONWriter()
        json.object { json in
            json.member("receiver", receiver)
            if !processed.acknowledged.isEmpty { json.member("ack", processed.acknowledged) }
            if !processed.refused.isEmpty {
                json.member(
                    "setErrs",
                    object: { json in
                        for id in processed.refused {
                            json.member(
                                id,
                                object: { json in
                                    json.member("err", "invalid_request")
                                    json.member("description", "The event was refused.")
                                })
                        }
                    })
            }
        }
        return json.bytes
    }

    private func process(_ answer: [UInt8]) async throws -> Processed {
        let limits = JSONLimits(members: 1024)
        guard let sets = (try? JSONReader.parse(answer, limits: limits))?.object?.object("sets") else {
            throw Failure.malformedAnswer
        }
        var processed = Processed()
        for set in sets.members {
            do throws(VerificationError) {
                sessions.insert(try await verifier.endedSession(of: set.value.string ?? ""))
                processed.acknowledged.append(set.name)
            } catch {
                // The keys may come back: then the broker sends the event again.
                if error.code == .keysUnavailable { throw error }
                processed.refused.append(set.name)
                onFailure(Failure.refused(error))
            }
        }
        return processed
    }

    private func answerInTime(to body: [UInt8]) async throws -> [UInt8] {
        try await withThrowingTaskGroup { group in
            group.addTask { try await transport(body) }
            group.addTask {
                try await sleep(timeout)
                throw Failure.timedOut
            }
            defer { group.cancelAll() }
            guard let answer = try await group.next() else { throw Failure.timedOut }
            return answer
        }
    }
}
