/// The relayed authorization codes of all replicas, and each result for 30 s. `Registry` implements it on PostgreSQL.
package protocol CodeRegister: Sendable {
    /// Reserves the code for some seconds. Of concurrent calls with one code, exactly one gets ``CodeClaim/granted``.
    /// The same request may repeat the call if the outcome of the first is unknown.
    func claim(_ entry: CodeEntry) async throws(PortError) -> CodeClaim

    /// Marks the code as sent. For one day, or 15 minutes after the IdP refused it, only a release lets another request
    /// claim it. Call this right before sending the code, and again if the outcome is unknown.
    /// - Parameter patience: The longest time for the IdP and all later steps. After it, the request counts as dead.
    /// - Returns: `false` if the reservation expired and another request holds it. The caller must not send the code.
    func send(_ code: CodeName, of request: UniqueID, patience: Seconds) async throws(PortError) -> Bool

    /// Ends the claim of this request. The result of a sent code is kept however late it arrives.
    /// - Returns: `false` if there is nothing left to settle. An earlier call of unknown outcome may have succeeded,
    ///   and another request may have received its result.
    func settle(_ code: CodeName, of request: UniqueID, as settlement: CodeSettlement) async throws(PortError) -> Bool

    /// Replaces the kept tokens by the answer made from them, unless another request was faster. The answer is kept for
    /// 30 s.
    /// - Returns: The answer that is kept now; `nil`: it is no longer kept.
    func finish(_ code: CodeName, _ binding: CodeBinding, answer: [UInt8]) async throws(PortError) -> [UInt8]?

    /// Withdraws kept tokens that cannot become an answer.
    /// - Returns: `true`: no request has received them or will receive them. `false`: an answer exists, or nothing is
    ///   kept.
    func forget(_ code: CodeName, _ binding: CodeBinding) async throws(PortError) -> Bool
}

/// Identifies a code of an issuer without revealing it.
package struct CodeName: Hashable, Sendable {
    /// 32 octets.
    package let octets: [UInt8]
}

/// Identifies all values that a repeated request must share with the first.
package struct CodeBinding: Hashable, Sendable {
    /// 32 octets.
    package let octets: [UInt8]
}

/// A request to relay a code.
package struct CodeEntry: Sendable {
    /// The X-Request-Id of the request that brings the code.
    package let requestID: UniqueID
    /// The code.
    package let code: CodeName
    /// The values that a repeated request must share with this one.
    package let binding: CodeBinding
    /// The claim consumes it, whatever its result.
    package let proof: PresentedProof?
}

/// The result of ``CodeRegister/claim(_:)``.
package enum CodeClaim: Sendable, Equatable {
    /// This caller alone may mark the code as sent.
    case granted
    /// Another request is using the code, or its broker died.
    case inFlight
    /// The IdP has answered a request with the same binding; sealed.
    case kept([UInt8])
    /// With another binding, too long ago, or without a result.
    case used
    /// The proof was presented before.
    case proofUsed
}

/// How a claim ends.
package enum CodeSettlement: Sendable, Equatable {
    /// Nothing was sent to the IdP. The claim is undone.
    case released
    /// The code may be spent, and the broker has no result.
    case lost
    /// The IdP's tokens, sealed. A repeated request continues from here.
    case kept([UInt8])
    /// The answer for every repeated request, sealed.
    case answered([UInt8])
}
