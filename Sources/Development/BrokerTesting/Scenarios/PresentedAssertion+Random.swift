public import NativeSSO

extension PresentedAssertion {
    /// A new one, good for longer than any clock here is apart.
    public static func random() -> PresentedAssertion {
        PresentedAssertion(
            id: AssertionID(client: ClientID(validated: "signer"), jti: UniqueID.random().description),
            until: UnixTime(seconds: 4_000_000_000))
    }
}
