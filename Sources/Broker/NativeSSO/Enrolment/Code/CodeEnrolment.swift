/// Enrolment by code: an app sends its code here instead of to the identity provider. The broker asks the provider once, makes
/// the login a session, and answers with the provider's tokens and an id_token of its own.
///
/// What was done is on record after each step, so that a broker may die between any two of them:
/// 1. The code is reserved. Of all requests with it, on all replicas, one goes on; a reservation runs out by itself.
/// 2. It is marked as sent, and right after that the identity provider is asked, once. No connection to the database is held
///    meanwhile.
/// 3. Its answer is kept, sealed. From here on nothing is lost: whoever repeats the request, at whichever replica, goes on from
///    what is kept, and the same id_token leads to the same session.
/// 4. The session is recorded, and after that the id_token signed, as of any enrolment.
/// 5. The finished answer takes the place of what was kept: all repetitions get this one.
///
/// What the database cannot be told goes on being told in the background: a code that was not sent is released, and what the
/// identity provider gave is kept, although the caller has been told to come again.
package struct CodeEnrolment: Sendable {
    private let relay: any CodeRelay
    private let register: any CodeRegister
    private let records: any RecordAuthenticator
    private let enrolment: Enrolment
    private let completion: CodeCompletion
    private let orphans: OrphanedTokens
    private let pending: PendingCodes
    private let pauses: CodePauses
    private let slots = RelaySlots()

    /// Beside the identity provider's own deadline, for the database, which may be failing over. Whoever was to ask and has taken
    /// longer counts as dead.
    static let allowance: Seconds = 30

    /// - Parameter pending: Where all counts that goes on without its caller.
    package init(
        relay: any CodeRelay, register: any CodeRegister, records: any RecordAuthenticator, enrolment: Enrolment,
        audit: any AuditTrail, clock: any WallClock, pending: PendingCodes, pauses: CodePauses = CodePauses()
    ) {
        self.relay = relay
        self.register = register
        self.records = records
        self.enrolment = enrolment
        self.pending = pending
        self.pauses = pauses
        orphans = OrphanedTokens(relay: relay, audit: audit, clock: clock, pending: pending)
        completion = CodeCompletion(register: register, enrolment: enrolment, orphans: orphans)
    }

    /// Codes that are at an identity provider now, or whose tokens are about to be kept.
    package var codesInFlight: Int { slots.count }

    package func run(_ request: CodeRequest) async throws(CodeError) -> ProviderTokens {
        guard let policy = request.issuer.codeRelay else { throw .broken("no code of this issuer is relayed") }
        if let refusal = request.refusal { throw .refused(refusal) }
        // An outage that is known beforehand must not cost the app its code.
        try CodeError.port { () throws(PortError) in try enrolment.checkSigning() }
        let seal = try CodeError.port { () throws(PortError) in try CodeSeal(request, records) }
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

    /// Goes on to the end whatever becomes of the caller: an app that changes networks just now would lose its login.
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

    /// In one of the identity provider's places, until the database has what came.
    private func fetch(
        _ request: CodeRequest, _ policy: CodeRelayPolicy, _ seal: CodeSeal
    ) async throws(CodeError) -> ProviderTokens {
        if let refusal = slots.enter(request, atMost: policy.atOnce) {
            await settle(request, seal, .released)
            throw .refused(.relay(refusal))
        }
        defer { slots.leave(request) }
        let tokens = try await ask(request, policy, seal)
        // Both or neither, Native SSO §3.4: where nothing is enrolled, the identity provider's own goes with its id_token.
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
        guard await keep(request, seal, sealed) else {
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
            case .unanswered(let fault, let orphan):
                await settle(request, seal, .lost)
                orphans.revoke(orphan, of: request)
                throw .refused(.fault(fault))
            }
        }
    }

    /// Last before the code goes out. Where the database does not say whether it is marked, it does not go.
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

    // MARK: What the database has to know

    /// At once or, while the caller is told already, as soon as it can be done; what is not on record then counts as lost.
    private func settle(_ request: CodeRequest, _ seal: CodeSeal, _ settlement: CodeSettlement) async {
        guard await !isTold(request, seal, settlement) else { return }
        pending.run {
            for pause in pauses.background {
                try? await Task.sleep(for: pause)
                guard await !isTold(request, seal, settlement) else { return }
            }
        }
    }

    /// Whether the database has said anything. Where it says that there is nothing to settle any more, an attempt of which nothing
    /// was heard did it, and others have gone on from there since: what they made of it the completion finds out.
    private func isTold(_ request: CodeRequest, _ seal: CodeSeal, _ settlement: CodeSettlement) async -> Bool {
        (try? await register.settle(seal.name, of: request.requestID, as: settlement)) != nil
    }

    /// The code is spent, and what came for it is in this process alone: an outage of the database is outwaited for a while.
    /// - Returns: `false`: in vain.
    private func keep(_ request: CodeRequest, _ seal: CodeSeal, _ sealed: [UInt8]) async -> Bool {
        for pause in pauses.caller {
            if await isTold(request, seal, .kept(sealed)) { return true }
            try? await Task.sleep(for: pause)
        }
        return await isTold(request, seal, .kept(sealed))
    }

    /// Without the caller: whoever repeats the request meanwhile is told to come again.
    private func keepOn(_ request: CodeRequest, _ seal: CodeSeal, _ sealed: [UInt8], _ kept: ProviderTokens) async {
        for pause in pauses.background {
            try? await Task.sleep(for: pause)
            guard await isTold(request, seal, .kept(sealed)) else { continue }
            return await completeOn(request, seal, kept)
        }
        // Any of the attempts may have been done.
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

/// Between two attempts to tell the database what became of a code.
package struct CodePauses: Sendable {
    /// While the app waits.
    package var caller: [Duration]
    /// Afterwards: about a minute, longer than a failover takes.
    package var background: [Duration]

    package init(
        caller: [Duration] = [.milliseconds(100), .milliseconds(400), .seconds(1), .seconds(2)],
        background: [Duration] = [
            .milliseconds(250), .milliseconds(500), .seconds(1), .seconds(2), .seconds(4), .seconds(8), .seconds(15),
            .seconds(30),
        ]
    ) {
        self.caller = caller
        self.background = background
    }
}
