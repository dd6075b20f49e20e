/// Enrolment by code: an app sends its code to the broker instead of the IdP. The broker asks the IdP once, records the
/// login as a session, and answers with the IdP's tokens and an id_token of its own.
///
/// The broker commits a record after each step, so that it may die between any two of them:
/// 1. The code is reserved. Of all requests with it, on all replicas, one continues. A reservation expires.
/// 2. The code is marked as sent. Right after that, the broker asks the IdP once. It holds no database connection
///    meanwhile.
/// 3. The answer is stored, sealed. From here on nothing is lost: a repeated request at any replica continues from the
///    stored answer, and the same id_token leads to the same session.
/// 4. The session is recorded. Then the id_token is signed, as in any enrolment.
/// 5. The finished answer replaces the stored one: all repeated requests get it.
///
/// If the database fails, the broker retries in the background: it releases a code that was not sent, and stores the
/// IdP's tokens. The caller has been told to come again by then.
package struct CodeEnrolment: Sendable {
    private let relay: any CodeRelay
    private let register: any CodeRegister
    private let records: any RecordAuthenticator
    private let enrolment: Enrolment
    private let completion: CodeCompletion
    private let orphans: OrphanedTokens
    private let pending: PendingCodes
    private let pauses: CodePauses
    let slots: RelaySlots

    /// Added to the IdP's deadline, for a database that may be failing over. A request that takes longer counts as
    /// dead.
    static let allowance: Seconds = 30

    /// - Parameters:
    ///   - pending: Counts the work that continues without its caller.
    ///   - slots: Counts the codes at each identity provider.
    package init(
        relay: any CodeRelay, register: any CodeRegister, records: any RecordAuthenticator, enrolment: Enrolment,
        audit: any AuditTrail, clock: any WallClock, pending: PendingCodes, slots: RelaySlots = RelaySlots(),
        pauses: CodePauses = .standard
    ) {
        self.slots = slots
        self.relay = relay
        self.register = register
        self.records = records
        self.enrolment = enrolment
        self.pending = pending
        self.pauses = pauses
        orphans = OrphanedTokens(relay: relay, audit: audit, clock: clock, pending: pending)
        completion = CodeCompletion(register: register, enrolment: enrolment, orphans: orphans)
    }

    package func run(_ request: CodeRequest) async throws(CodeError) -> ProviderTokens {
        guard let policy = request.issuer.codeRelay else { throw .broken("no code of this issuer is relayed") }
        if let refusal = request.refusal { throw .refused(refusal) }
        // A known outage must not cost the app its code.
        try CodeError.port { () throws(PortError) in try enrolment.checkSigning(for: request.client) }
        let seal = try await CodeError.port { () async throws(PortError) in try await CodeSeal(request, records) }
        let claim = try await CodeError.port { () async throws(PortError) in
            try await register.claim(
                CodeEntry(requestID: request.requestID, code: seal.name, binding: seal.binding, proof: request.proof))
        }
        switch claim {
        case .granted: return try await redeem(request, policy, seal)
        case .kept(let sealed):
            let kept = try CodeError.port { () throws(PortError) in try seal.open(sealed) }
            return try await completion.run(request, kept, seal)
        case .inFlight: throw .refused(.relay(.inFlight))
        case .used: throw .refused(.relay(.used))
        case .proofUsed: throw .refused(.relay(.proofReplayed))
        }
    }

    /// Continues if the caller goes away: an app that changes networks now must not lose its login.
    private func redeem(
        _ request: CodeRequest, _ policy: CodeRelayPolicy, _ seal: CodeSeal
    ) async throws(CodeError) -> ProviderTokens {
        let task = pending.run {
            do throws(CodeError) {
                return Result<ProviderTokens, CodeError>.success(try await redeemOnce(request, policy, seal))
            } catch {
                return .failure(error)
            }
        }
        return try await task.value.get()
    }

    private func redeemOnce(
        _ request: CodeRequest, _ policy: CodeRelayPolicy, _ seal: CodeSeal
    ) async throws(CodeError) -> ProviderTokens {
        let kept = try await fetch(request, policy, seal)
        do throws(CodeError) {
            return try await completion.run(request, .tokens(kept), seal)
        } catch {
            if case .refused = error { throw error }
            pending.run { await completeOn(request, seal, kept) }
            throw error
        }
    }

    /// Occupies one of the IdP's slots until the database has the answer.
    private func fetch(
        _ request: CodeRequest, _ policy: CodeRelayPolicy, _ seal: CodeSeal
    ) async throws(CodeError) -> ProviderTokens {
        if let refusal = slots.enter(request, atMost: policy.atOnce) {
            await settle(request, seal, .released)
            throw .refused(.relay(refusal))
        }
        defer { slots.leave(request) }
        let tokens = try await ask(request, policy, seal)
        // The secret and the id_token come from the same party (Native SSO §3.4). Without an enrolment both are the
        // IdP's.
        let secret =
            if !request.enrols(tokens) {
                tokens.deviceSecret
            } else if request.device == nil {
                DeviceValue.newSecret().secret
            } else {
                String?.none
            }
        var answer = tokens
        answer.deviceSecret = secret
        let kept = answer
        let sealed = try CodeError.port { () throws(PortError) in try seal.seal(.tokens(kept)) }
        // The code is spent, and only this process holds the tokens: the broker waits out a short outage of the
        // database.
        var isKept = await isTold(request, seal, .kept(sealed))
        if !isKept { isKept = await isTold(request, seal, .kept(sealed), after: pauses.caller) }
        guard isKept else {
            pending.run { await keepOn(request, seal, sealed, kept) }
            throw .outage(Outage(.database, "what came for a code could not be kept yet"))
        }
        return kept
    }

    // MARK: The identity provider

    private func ask(
        _ request: CodeRequest, _ policy: CodeRelayPolicy, _ seal: CodeSeal
    ) async throws(CodeError) -> ProviderTokens {
        try await markAsSent(request, policy, seal)
        do throws(CodeRelayError) {
            return try await relay.redeem(request.code, of: request.client.id, at: request.issuer.issuer)
        } catch {
            switch error {
            case .refused(let refusal):
                let sealed = try CodeError.port { () throws(PortError) in try seal.seal(.refused(refusal)) }
                await settle(request, seal, .answered(sealed))
                throw .refused(.provider(refusal))
            case .notAsked(let fault):
                await settle(request, seal, .released)
                throw .refused(.fault(fault))
            case .unanswered(let fault):
                await settle(request, seal, .lost)
                throw .refused(.fault(fault))
            case .unusable(let fault, let orphan):
                await settle(request, seal, .lost)
                orphans.revoke(orphan, of: request)
                throw .refused(.unusable(fault))
            }
        }
    }

    /// The last step before the broker sends the code. If the mark is not confirmed, the code is not sent.
    private func markAsSent(
        _ request: CodeRequest, _ policy: CodeRelayPolicy, _ seal: CodeSeal
    ) async throws(CodeError) {
        let patience = Seconds(policy.timeout.count + Self.allowance.count)
        let isMine: Bool
        do throws(PortError) {
            isMine = try await register.send(seal.name, of: request.requestID, patience: patience)
        } catch {
            await settle(request, seal, .released)
            throw CodeError(error)
        }
        guard isMine else { throw .refused(.relay(.inFlight)) }
    }

    // MARK: Settling

    /// Settles at once, or retries in the background. A code that cannot be settled counts as lost.
    private func settle(_ request: CodeRequest, _ seal: CodeSeal, _ settlement: CodeSettlement) async {
        guard await !isTold(request, seal, settlement) else { return }
        pending.run { await isTold(request, seal, settlement, after: pauses.background) }
    }

    /// Whether the database has answered. If it answers that there is nothing left to settle, an earlier attempt of
    /// unknown outcome succeeded, and other requests have continued from there. The completion finds their result.
    private func isTold(_ request: CodeRequest, _ seal: CodeSeal, _ settlement: CodeSettlement) async -> Bool {
        (try? await register.settle(seal.name, of: request.requestID, as: settlement)) != nil
    }

    /// The same, with an attempt after each pause until the database answers.
    private func isTold(
        _ request: CodeRequest, _ seal: CodeSeal, _ settlement: CodeSettlement, after pauses: [Duration]
    ) async -> Bool {
        for pause in pauses {
            try? await Task.sleep(for: pause)
            if await isTold(request, seal, settlement) { return true }
        }
        return false
    }

    /// Continues without the caller. Meanwhile, repeated requests get 503 with `Retry-After`.
    private func keepOn(_ request: CodeRequest, _ seal: CodeSeal, _ sealed: [UInt8], _ kept: ProviderTokens) async {
        if await isTold(request, seal, .kept(sealed), after: pauses.background) {
            return await completeOn(request, seal, kept)
        }
        // Any of the attempts may have taken effect.
        orphans.leave(kept.refreshToken, of: request)
    }

    private func completeOn(_ request: CodeRequest, _ seal: CodeSeal, _ kept: ProviderTokens) async {
        for pause in pauses.background {
            do throws(CodeError) {
                _ = try await completion.run(request, .tokens(kept), seal)
                return
            } catch {
                if case .refused = error { return }
            }
            try? await Task.sleep(for: pause)
        }
        await completion.abandon(request, kept, seal)
    }
}

/// Pauses between two attempts to settle a code in the database.
package struct CodePauses: Sendable {
    /// While the app waits.
    var caller: [Duration] = [.milliseconds(100), .milliseconds(400), .seconds(1), .seconds(2)]
    /// Afterwards: about a minute, longer than a failover takes.
    var background: [Duration] = [
        .milliseconds(250), .milliseconds(500), .seconds(1), .seconds(2), .seconds(4), .seconds(8), .seconds(15),
        .seconds(30),
    ]

    package static let standard = CodePauses()
}
