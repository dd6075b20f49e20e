/// From what is kept for a code to the answer that everybody gets who repeats the request.
struct CodeCompletion: Sendable {
    let register: any CodeRegister
    let enrolment: Enrolment
    let orphans: OrphanedTokens

    func run(_ request: CodeRequest, _ kept: KeptAnswer, _ seal: CodeSeal) async throws(CodeError) -> ProviderTokens {
        switch kept {
        case .refused(let error): throw .refused(.provider(error))
        case .answer(let answer): return answer
        case .tokens(let tokens):
            do throws(CodeError) {
                return try await finish(request, tokens, seal)
            } catch {
                if case .refused = error { await abandon(request, tokens, seal) }
                throw error
            }
        }
    }

    /// Nobody is to get what the identity provider gave. Somebody may have it already, by another broker: it is revoked only where
    /// the register has withdrawn it.
    func abandon(_ request: CodeRequest, _ kept: ProviderTokens, _ seal: CodeSeal) async {
        let isWithdrawn: Bool
        do throws(PortError) {
            isWithdrawn = try await register.forget(seal.name, seal.binding)
        } catch {
            return orphans.leave(kept.refreshToken, of: request)
        }
        if isWithdrawn { orphans.revoke(kept.refreshToken, of: request) }
    }

    private func finish(
        _ request: CodeRequest, _ kept: ProviderTokens, _ seal: CodeSeal
    ) async throws(CodeError) -> ProviderTokens {
        let answer = try await answer(request, kept)
        let sealed = try CodeError.port { () throws(PortError) in try seal.seal(.answer(answer)) }
        let present = try await CodeError.port { () async throws(PortError) in
            try await register.finish(seal.name, seal.binding, answer: sealed)
        }
        guard let present else { throw .refused(.relay(.used)) }
        guard present != sealed else { return answer }
        // Somebody who repeated the request was faster: one answer for all.
        guard case .answer(let first) = try CodeError.port({ () throws(PortError) in try seal.open(present) })
        else { throw .broken("what is kept for a code is no answer") }
        return first
    }

    /// The answer from what the identity provider gave.
    private func answer(_ request: CodeRequest, _ kept: ProviderTokens) async throws(CodeError) -> ProviderTokens {
        let enrols = request.enrols(kept)
        let login = EnrolmentRequest(
            requestID: request.requestID, client: request.client, issuer: request.issuer,
            idToken: SubjectToken(kept.idToken), manner: .code, device: request.device,
            scope: request.device == nil && enrols ? Scope(["openid", ScopeDemand.ignoredToken]) : nil,
            proof: request.proof)
        let idToken = try await enrolling { () async throws(EnrolmentError) in try await enrolment.verify(login) }
        guard idToken.fits(accessToken: kept.accessToken) else { throw .refused(.fault(.accessTokenHash)) }
        guard enrols else {
            try await enrolling { () async throws(EnrolmentError) in try enrolment.check(login, idToken) }
            return kept
        }
        let secret = kept.deviceSecret.flatMap { DeviceValue($0, profile: .deviceSecret) }
        guard let device = request.device ?? secret else { throw .broken("a device secret was not kept") }
        let enrolled = try await enrolling { () async throws(EnrolmentError) in
            try await enrolment.enrol(login, idToken, device: device, accessToken: kept.accessToken)
        }
        var answer = kept
        answer.idToken = enrolled.accessToken
        return answer
    }

    private func enrolling<Value: Sendable>(
        _ body: () async throws(EnrolmentError) -> Value
    ) async throws(CodeError) -> Value {
        do throws(EnrolmentError) {
            return try await body()
        } catch {
            switch error {
            case .invalidIDToken(let defect): throw .refused(.idToken(defect))
            case .refused(let refusal): throw .refused(CodeRefusal(refusal))
            case .limited(let limited): throw .limited(limited)
            case .outage(let outage): throw .outage(outage)
            case .broken(let what): throw .broken(what)
            }
        }
    }
}
