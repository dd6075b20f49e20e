/// Enrolment by code: an app sends its code here instead of to the identity provider. The broker asks the provider once, makes
/// the login a session, and answers with the provider's tokens and an id_token of its own.
///
/// What was done is on record after each step, so that a broker may die between any two of them:
/// 1. The code is claimed. Of all requests with it, on all replicas, one goes on.
/// 2. The identity provider is asked, once. No connection to the database is held meanwhile.
/// 3. Its answer is kept, sealed. From here on nothing is lost: whoever repeats the request, at whichever replica, goes on from
///    what is kept, and the same id_token leads to the same session.
/// 4. The session is recorded, and after that the id_token signed, as of any enrolment.
/// 5. The finished answer takes the place of what was kept: all repetitions get this one.
public struct CodeEnrolment: Sendable {
    private let relay: any CodeRelay
    private let register: any CodeRegister
    private let records: any RecordAuthenticator
    private let enrolment: Enrolment
    private let slots = RelaySlots()

    /// Beside the identity provider's own deadline, for the database and the provider's key set. A claim that is older counts as
    /// lost, and whoever holds it gets no further.
    static let allowance: Seconds = 10

    public init(
        relay: any CodeRelay, register: any CodeRegister, records: any RecordAuthenticator, enrolment: Enrolment
    ) {
        self.relay = relay
        self.register = register
        self.records = records
        self.enrolment = enrolment
    }

    /// Codes that are at an identity provider now.
    public var codesInFlight: Int { slots.count }

    public func run(_ request: CodeRequest) async throws(CodeError) -> CodeAnswer {
        guard let policy = request.issuer.codeRelay else { throw .broken("no code of this issuer is relayed") }
        if let refusal = request.refusal { throw .refused(refusal) }
        // An outage that is known beforehand must not cost the app its code.
        try CodeError.port { () throws(PortError) in try enrolment.checkSigning() }
        let seal = try CodeError.port { () throws(PortError) in try CodeSeal(request, records) }
        let claim = try await CodeError.port { () async throws(PortError) in
            try await register.claim(
                CodeEntry(
                    requestID: request.requestID, code: seal.name, binding: seal.binding,
                    patience: Seconds(policy.timeout.count + Self.allowance.count), proof: request.proof))
        }
        switch claim {
        case .granted: return try await redeem(request, policy, seal)
        case .kept(let sealed): return try await resume(request, sealed, seal)
        case .inFlight: throw .refused(.inFlight)
        case .used: throw .refused(.used)
        case .proofUsed: throw .refused(.proofReplayed)
        }
    }

    /// Goes on to the end whatever becomes of the caller: an app that changes networks just now would lose its login.
    private func redeem(
        _ request: CodeRequest, _ policy: CodeRelayPolicy, _ seal: CodeSeal
    ) async throws(CodeError) -> CodeAnswer {
        let task = Task {
            do throws(CodeError) {
                return Result<CodeAnswer, CodeError>.success(try await redeemOnce(request, policy, seal))
            } catch {
                return .failure(error)
            }
        }
        return try await task.value.get()
    }

    private func redeemOnce(
        _ request: CodeRequest, _ policy: CodeRelayPolicy, _ seal: CodeSeal
    ) async throws(CodeError) -> CodeAnswer {
        let issuer = request.issuer.issuer
        guard slots.enter(issuer, atMost: policy.atOnce) else {
            await settle(request, seal, .released)
            throw .refused(.relayBusy)
        }
        let tokens: ProviderTokens
        do throws(CodeRelayError) {
            defer { slots.leave(issuer) }
            tokens = try await relay.redeem(request.code, of: request.client.id, at: issuer)
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
            }
        }
        let secret = request.device == nil && request.enrols(tokens) ? DeviceValue.newSecret() : nil
        let kept = KeptAnswer.tokens(CodeAnswer(tokens: tokens, deviceSecret: secret?.secret))
        let sealed = try CodeError.port { () throws(PortError) in try seal.seal(kept) }
        guard try await keep(request, seal, sealed) else { throw .refused(.used) }
        return try await finish(request, kept, seal)
    }

    /// The code is spent, and what came for it is in this process alone: an outage of the database is outwaited for a while.
    private func keep(_ request: CodeRequest, _ seal: CodeSeal, _ sealed: [UInt8]) async throws(CodeError) -> Bool {
        for pause in Self.pauses {
            if let isKept = try? await register.settle(seal.name, of: request.requestID, as: .kept(sealed)) {
                return isKept
            }
            try? await Task.sleep(for: pause)
        }
        return try await CodeError.port { () async throws(PortError) in
            try await register.settle(seal.name, of: request.requestID, as: .kept(sealed))
        }
    }

    private static let pauses: [Duration] = [.milliseconds(100), .milliseconds(400), .seconds(1), .seconds(2)]

    /// As far as it can be done: what is not on record then counts as lost, and the caller is told what happened all the same.
    private func settle(_ request: CodeRequest, _ seal: CodeSeal, _ settlement: CodeSettlement) async {
        _ = try? await register.settle(seal.name, of: request.requestID, as: settlement)
    }

    private func resume(
        _ request: CodeRequest, _ sealed: [UInt8], _ seal: CodeSeal
    ) async throws(CodeError) -> CodeAnswer {
        try await finish(request, try CodeError.port { () throws(PortError) in try seal.open(sealed) }, seal)
    }

    private func finish(
        _ request: CodeRequest, _ kept: KeptAnswer, _ seal: CodeSeal
    ) async throws(CodeError) -> CodeAnswer {
        switch kept {
        case .refused(let error): throw .refused(.provider(error))
        case .answer(let answer): return answer
        case .tokens(let tokens):
            let answer = try await answer(request, tokens)
            let sealed = try CodeError.port { () throws(PortError) in try seal.seal(.answer(answer)) }
            let present = try await CodeError.port { () async throws(PortError) in
                try await register.finish(seal.name, seal.binding, answer: sealed)
            }
            guard let present else { throw .refused(.used) }
            guard present != sealed else { return answer }
            // Somebody who repeated the request was faster: one answer for all.
            guard case .answer(let first) = try CodeError.port({ () throws(PortError) in try seal.open(present) })
            else { throw .broken("what is kept for a code is no answer") }
            return first
        }
    }

    /// The answer from what the identity provider gave.
    private func answer(_ request: CodeRequest, _ kept: CodeAnswer) async throws(CodeError) -> CodeAnswer {
        let enrols = request.enrols(kept.tokens)
        let login = EnrolmentRequest(
            requestID: request.requestID, client: request.client, issuer: request.issuer,
            idToken: SubjectToken(kept.tokens.idToken), device: request.device,
            scope: request.device == nil && enrols ? Scope(["openid", ScopeDemand.ignoredToken]) : nil,
            proof: request.proof)
        let idToken = try await enrolling { () async throws(EnrolmentError) in try await enrolment.verify(login) }
        guard idToken.fits(accessToken: kept.tokens.accessToken) else { throw .refused(.fault(.accessTokenHash)) }
        guard enrols else {
            try await enrolling { () async throws(EnrolmentError) in try enrolment.check(login, idToken) }
            return kept
        }
        let secret = kept.deviceSecret.flatMap { DeviceValue($0, profile: .deviceSecret) }
        guard let device = request.device ?? secret else { throw .broken("a device secret was not kept") }
        let enrolled = try await enrolling { () async throws(EnrolmentError) in
            try await enrolment.enrol(login, idToken, device: device, by: .code, accessToken: kept.tokens.accessToken)
        }
        var answer = kept
        answer.tokens.idToken = enrolled.idToken
        return answer
    }

    private func enrolling<Value: Sendable>(
        _ body: () async throws(EnrolmentError) -> Value
    ) async throws(CodeError) -> Value {
        do throws(EnrolmentError) {
            return try await body()
        } catch {
            switch error {
            case .refused(let refusal): throw .refused(CodeRefusal(refusal))
            case .limited(let limited): throw .limited(limited)
            case .outage(let outage): throw .outage(outage)
            case .broken(let what): throw .broken(what)
            }
        }
    }
}
