/// One client's permission in one session, at one generation of its refresh chain.
package struct Grant: Sendable {
    package let id: UniqueID
    package let generation: Int32
    package let scope: Scope
    package let expiresAt: UnixTime
    /// What it is bound to.
    package let key: KeyThumbprint?
}
