/// Which authorization codes were relayed, and, for half a minute, with what result: implemented by `Registry` on PostgreSQL, for
/// all replicas together.
package protocol CodeRegister: Sendable {
    /// Reserves the code for some seconds: of any number of calls at once with one code, one gets ``CodeClaim/granted``. The same
    /// request may call it again where it does not know what became of the first call.
    func claim(_ entry: CodeEntry) async throws(PortError) -> CodeClaim

    /// Marks the code as sent: from now on, for a day, no request is granted it but by a release. To be called right before it is sent,
    /// and again where the outcome is not known.
    /// - Parameter patience: How long the identity provider, and what comes after it, may take: who takes longer counts as dead.
    /// - Returns: `false`: the reservation has run out and is another's. The code must not be sent.
    func send(
        _ code: CodeName, of request: UniqueID, patience: Seconds
    ) async throws(PortError) -> Bool

    /// Ends what a claim of this request began. What came for a code that was sent is kept however late it comes.
    /// - Returns: `false`: there is nothing to settle any more. That says nothing of who has got what was kept: where an earlier call
    ///   was done unheard, others may have gone on from there.
    func settle(_ code: CodeName, of request: UniqueID, as settlement: CodeSettlement) async throws(PortError) -> Bool

    /// Replaces what is kept by the answer that was made from it, unless another request was faster. From then on it is given out
    /// for half a minute.
    /// - Returns: The answer that is kept now; `nil`: none is any more.
    func finish(_ code: CodeName, _ binding: CodeBinding, answer: [UInt8]) async throws(PortError) -> [UInt8]?

    /// Withdraws what is kept, of which no answer can be made.
    /// - Returns: `true`: no request has received it, and none will. `false`: there is an answer, or nothing any more.
    func forget(_ code: CodeName, _ binding: CodeBinding) async throws(PortError) -> Bool
}

/// Names a code of an issuer. No code can be read from it.
package struct CodeName: Hashable, Sendable {
    /// 32 octets.
    package let octets: [UInt8]
    package init(octets: [UInt8]) { self.octets = octets }
}

/// Stands for all that a repeated request must have in common with the first.
package struct CodeBinding: Hashable, Sendable {
    /// 32 octets.
    package let octets: [UInt8]
    package init(octets: [UInt8]) { self.octets = octets }
}

/// A request to relay a code.
package struct CodeEntry: Sendable {
    /// The X-Request-Id of the request that brings the code.
    package let requestID: UniqueID
    /// The code.
    package let code: CodeName
    /// What a repetition must have in common with this request.
    package let binding: CodeBinding
    /// Used up by the claim, whatever comes of it.
    package let proof: PresentedProof?
}

/// The result of ``CodeRegister/claim(_:)``.
package enum CodeClaim: Sendable, Equatable {
    /// This caller alone may mark the code as sent.
    case granted
    /// Another request is at it, or a broker died that was.
    case inFlight
    /// The identity provider has answered a request with the same binding; sealed.
    case kept([UInt8])
    /// With another binding, too long ago, or without a result.
    case used
    /// The proof was presented before.
    case proofUsed
}

/// How a claim ends.
package enum CodeSettlement: Sendable, Equatable {
    /// Nothing was sent to the identity provider: as if there had been no claim.
    case released
    /// It may be spent, and there is nothing to show for it.
    case lost
    /// The identity provider's tokens, sealed: a repetition of the request can go on from here.
    case kept([UInt8])
    /// What every repetition is to get, sealed.
    case answered([UInt8])
}
