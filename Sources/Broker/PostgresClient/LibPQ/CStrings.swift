import Glibc

/// A NULL-terminated list of C strings. Wiped when it goes: one of them may be a password.
@safe struct CStrings: ~Copyable {
    private let pointers: [UnsafeMutablePointer<CChar>?]

    init(_ strings: [String]) { unsafe pointers = unsafe strings.map { unsafe strdup($0) } + [nil] }

    deinit {
        unsafe pointers.forEach { pointer in
            guard let pointer = unsafe pointer else { return }
            unsafe explicit_bzero(pointer, strlen(pointer))
            unsafe free(pointer)
        }
    }

    func withPointers<Value>(_ body: (UnsafePointer<UnsafePointer<CChar>?>?) -> Value) -> Value {
        let constant = unsafe pointers.map { unsafe $0.map { unsafe UnsafePointer($0) } }
        return unsafe constant.withUnsafeBufferPointer { unsafe body($0.baseAddress) }
    }
}
