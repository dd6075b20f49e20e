/// A system call failed while a process, a channel or a file was prepared.
package struct SystemCallFailure: Error, Equatable, CustomStringConvertible {
    package let call: String
    package let errno: Int32

    package init(call: String, errno: Int32) {
        self.call = call
        self.errno = errno
    }

    package var description: String { "\(call) failed with errno \(errno)" }
}
