// Package viewer is the server of `ullage view`: it reads recordings while it is asked
// about them, and answers the page's questions as docs/formats/view-api.md lays them
// down.
//
// It listens on this machine only, and answers only pages that it served itself. What
// it is asked names recordings by their ids and everything else by numbers: no path
// comes from a client. Every answer is made from the same structs as the output of the
// other commands, so that the numbers are the same.
//
//	session     the recordings, how far they are read, and who is told of it
//	device      what is kept of a device, and what of it is made on first use
//	route, query, reply
//	            from a request to the function that answers it, and back
//	guard       which requests are answered at all
//	answer_*    one question each
//	export      the same answers, in one file
package viewer
